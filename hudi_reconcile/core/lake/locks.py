"""How writers of a lake path are kept apart, by the scheme of the path: Hudi's lock, and this tool's lease. Pure.

Both are files that exactly one of several writers may make. Local disks and HDFS make such files. On an object store neither
Hudi's file lock nor Hadoop's `create` does so: S3A of Hadoop 3.3 looks first and puts later. There a lock provider must keep
hosts apart; the lease only names the holder, but on `s3a`, where a conditional write makes it (`lake/files.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hudi_reconcile.core.errors import UsageError, fold

PROVIDER = "hoodie.write.lock.provider"
_LOCKS = "org.apache.hudi.client.transaction.lock."
FILE_LOCK = f"{_LOCKS}FileSystemBasedLockProvider"
STORAGE_LOCK = f"{_LOCKS}StorageBasedLockProvider"
ZOOKEEPER_LOCK = f"{_LOCKS}ZookeeperBasedLockProvider"
# Where Hadoop's `create` without overwrite is atomic, as Hudi 1.2's StorageSchemes has it.
_ATOMIC = frozenset({"", "file", "hdfs", "viewfs", "dfs", "hopsfs"})
# What StorageBasedLockProvider talks to a store with: in none of the jars that this tool brings.
CLIENTS: Mapping[str, tuple[str, ...]] = {
    "aws": ("org.apache.hudi.aws.transaction.lock.S3StorageLockClient", "software.amazon.awssdk.services.s3.S3Client"),
    "gcp": ("org.apache.hudi.gcp.transaction.lock.GCSStorageLockClient", "com.google.cloud.storage.Storage"),
    "azure": ("org.apache.hudi.azure.transaction.lock.AzureStorageLockClient", "com.azure.storage.blob.BlobClient"),
}
_STORES = {
    "s3": "aws", "s3a": "aws", "gs": "gcp", "wasb": "azure", "wasbs": "azure", "abfs": "azure", "abfss": "azure",
}  # fmt: skip
_IN_PROCESS = frozenset({"InProcessLockProvider", "NoopLockProvider", "FileSystemBasedLockProvider"})
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


class LockProviderError(UsageError):
    """No lock can keep writers of this lake apart: none works for its scheme, or the one that is set does not."""


@dataclass(frozen=True, slots=True)
class LockWay:
    """Hudi's lock provider for a lake path, and whether our lease is exclusive there by itself."""

    provider: str
    is_lease_exclusive: bool


def read_scheme(path: str) -> str:
    """The scheme of a Hadoop path in lower case; empty for a path without one.

    >>> read_scheme("S3A://bucket/lake"), read_scheme("/data/lake")
    ('s3a', '')
    """
    match = _SCHEME.match(path)
    return match[1].lower() if match else ""


def list_client_classes(path: str) -> tuple[str, ...]:
    """The classes with which StorageBasedLockProvider writes to this store; none where Hudi knows no such client."""
    return CLIENTS.get(_STORES.get(read_scheme(path), ""), ())


def choose_lock(path: str, options: Mapping[str, str], *, has_client: bool = False) -> LockWay:
    """The lock for writes below this path. `options` are the user's; `has_client`: every class of `list_client_classes` is there.

    A provider that the user names is taken as it is, except one that keeps no two hosts apart on a store.

    Raises:
        LockProviderError: a store whose files are not made atomically, and no provider for it; names the lines to set.
    """
    scheme = read_scheme(path)
    named = {fold(key): value for key, value in options.items()}.get(PROVIDER, "")
    if scheme in _ATOMIC:
        return LockWay(named or FILE_LOCK, is_lease_exclusive=True)
    if not named:
        if has_client and list_client_classes(path):
            return LockWay(STORAGE_LOCK, is_lease_exclusive=False)
        raise LockProviderError(
            f"lake {path}: no lock keeps two hosts apart on {scheme}: its files cannot be made by exactly one of two writers, "
            "and lake.options names no lock provider; nothing was written",
            fix=lock_fix(path),
        )
    if named.rsplit(".", 1)[-1] in _IN_PROCESS:
        raise LockProviderError(
            f"lake {path}: {named} keeps no two hosts apart on {scheme}; nothing was written", fix=lock_fix(path)
        )
    return LockWay(named, is_lease_exclusive=False)


def lock_fix(path: str) -> str:
    """The lines of `lake.options` with which a lock works for this path."""
    zookeeper = (  # with the port in the address: Hudi 1.2 reads no other
        f"lake: {{options: {{{PROVIDER}: {ZOOKEEPER_LOCK}, hoodie.write.lock.zookeeper.url: HOST:2181, "
        "hoodie.write.lock.zookeeper.base_path: /hudi, "
        "hoodie.write.lock.zookeeper.lock_key: TABLE}}"
    )
    if read_scheme(path) in _ATOMIC:
        return f"remove hoodie.write.lock.* from lake.options, or: {zookeeper}"
    if not list_client_classes(path):
        return f"{zookeeper}; the same lines for every writer of the table"
    return (
        f"{zookeeper}; or lake: {{options: {{{PROVIDER}: {STORAGE_LOCK}}}}} with the jars that hold "
        f"{' and '.join(list_client_classes(path))} in jars.paths; the same lines for every writer of the table"
    )
