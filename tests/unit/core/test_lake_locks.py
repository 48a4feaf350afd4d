"""Which lock keeps the writers of a path apart."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.lake.locks import (
    FILE_LOCK,
    PROVIDER,
    STORAGE_LOCK,
    ZOOKEEPER_LOCK,
    LockProviderError,
    LockWay,
    choose_lock,
    list_client_classes,
)
from hudi_reconcile.core.outcome import Outcome

STORES = ["s3a://b/t", "S3://b/t", "gs://b/t", "abfs://c@a/t", "wasbs://c@a/t"]
UNKNOWN = ["oss://b/t", "cos://b/t", "new-store:/t"]


@pytest.mark.parametrize("path", ["/lake/t", "lake/t", "file:///lake/t", "hdfs://nn/t", "viewfs://c/t"])
def test_local_disks_and_hdfs_are_locked_by_a_file_as_before(path: str) -> None:
    assert choose_lock(path, {}) == LockWay(FILE_LOCK, is_lease_exclusive=True)
    assert choose_lock(path, {PROVIDER: "their.Provider"}).provider == "their.Provider"


@pytest.mark.parametrize("path", [*STORES, *UNKNOWN])
def test_store_without_a_named_provider_is_refused_with_the_lines_to_set(path: str) -> None:
    with pytest.raises(LockProviderError, match="no lock keeps two hosts apart") as caught:
        choose_lock(path, {})

    assert f"{PROVIDER}: {ZOOKEEPER_LOCK}" in caught.value.fix
    assert (STORAGE_LOCK in caught.value.fix) is (path in STORES)
    assert caught.value.outcome is Outcome.USAGE


@pytest.mark.parametrize("name", ["InProcessLockProvider", "NoopLockProvider", "FileSystemBasedLockProvider"])
def test_provider_that_keeps_no_hosts_apart_is_refused_on_a_store_however_its_key_is_written(name: str) -> None:
    with pytest.raises(LockProviderError, match=name):
        choose_lock("s3a://b/t", {PROVIDER.upper(): f"org.apache.hudi.client.transaction.lock.{name}"})


def test_provider_that_the_user_names_is_taken_on_a_store_and_the_lease_alone_keeps_nobody_out() -> None:
    assert choose_lock("s3a://b/t", {PROVIDER: ZOOKEEPER_LOCK}) == LockWay(ZOOKEEPER_LOCK, is_lease_exclusive=False)


@pytest.mark.parametrize("path", STORES)
def test_store_whose_client_is_there_is_locked_by_conditional_writes(path: str) -> None:
    assert choose_lock(path, {}, has_client=True).provider == STORAGE_LOCK


@pytest.mark.parametrize("path", UNKNOWN)
def test_store_that_hudi_has_no_client_for_is_refused_even_so(path: str) -> None:
    assert list_client_classes(path) == ()
    with pytest.raises(LockProviderError):
        choose_lock(path, {}, has_client=True)
