"""Small files beside and below a table, through Hadoop's FileSystem, so that every path Spark can read works here too.

Acts only; what a file means is decided elsewhere.

S3A of Hadoop 3.3 looks first and puts later. Where it is the file system, a file is made or changed by a conditional put of
its own client, so that of several writers one succeeds.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.lake.bridge import describe_failure, list_cause_names

_log = logging.getLogger(__name__)
_MAX_BYTES = 1 << 20
_REFUSED = frozenset({409, 412})  # a condition does not hold, or another conditional write is under way


@dataclass(frozen=True, slots=True)
class FileStat:
    """Name and modification time (epoch milliseconds, the storage's clock)."""

    name: str
    modified_ms: int


def read_address(jvm: Any, settings: Mapping[str, str], address: str, most_bytes: int) -> str:
    """The text of a small UTF-8 file on any file system of Hadoop; `settings` are Hadoop's.

    Raises:
        OSError: it cannot be opened, or is larger than that; the reason is that of Hadoop, by its class alone.
        UnicodeDecodeError: it is not UTF-8.
    """
    conf = jvm.org.apache.hadoop.conf.Configuration()
    for name, value in settings.items():
        conf.set(name, value)
    try:
        path = jvm.org.apache.hadoop.fs.Path(address)
        stream = path.getFileSystem(conf).open(path)
        try:
            data = bytes(stream.readNBytes(most_bytes + 1))
        finally:
            stream.close()
    except Py4JJavaError as error:
        raise OSError(", ".join(list_cause_names(error))) from error  # messages of stores may hold what signs a request
    if len(data) > most_bytes:
        raise OSError(f"larger than {most_bytes:,} bytes")
    return data.decode("utf-8")


class Files:
    """The file system that holds one path. Every method raises LakeError where the storage does not answer."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._jvm: Any = spark._jvm  # noqa: SLF001  py4j has no public door
        jsc: Any = spark._jsc  # noqa: SLF001
        self._path = path
        try:
            self._fs = self._java(path).getFileSystem(jsc.hadoopConfiguration())
            scheme = str(self._fs.getUri().getScheme())
            self._local = scheme == "file"
            self._store = _Store(self._jvm, self._fs) if scheme == "s3a" else None
        except Py4JJavaError as error:
            raise self._build_failure(path, error) from error

    def exists(self, path: str) -> bool:
        """True where there is a file or folder."""
        return bool(self._call(path, lambda: self._fs.exists(self._java(path))))

    def list(self, folder: str) -> tuple[FileStat, ...]:
        """Entries of a folder; none where the folder does not exist."""
        if not self.exists(folder):
            return ()
        statuses = self._call(folder, lambda: self._fs.listStatus(self._java(folder)))
        return tuple(
            FileStat(str(status.getPath().getName()), int(status.getModificationTime())) for status in statuses
        )

    def modified_ms(self, path: str) -> int | None:
        """When a file was last modified (epoch milliseconds, the storage's clock); None where there is none."""
        if not self.exists(path):
            return None
        return int(self._call(path, lambda: self._fs.getFileStatus(self._java(path))).getModificationTime())

    def read(self, path: str) -> tuple[str, int] | None:
        """Text and modification time in epoch milliseconds; None where there is no such file (any more)."""
        try:
            stat = self._fs.getFileStatus(self._java(path))
            stream = self._fs.open(self._java(path))
            try:
                data = bytes(stream.readNBytes(_MAX_BYTES))
            finally:
                stream.close()
        except Py4JJavaError as error:
            if "FileNotFoundException" in list_cause_names(error):
                return None
            raise self._build_failure(path, error) from error
        return data.decode("utf-8", errors="replace"), int(stat.getModificationTime())

    def create(self, path: str, text: str) -> bool:
        """Create the file with this text; False where it exists.

        Atomic on local disks, on HDFS, and through S3A on stores that honour conditional writes; one that does not is logged.
        """
        if self._local:
            return _create_local(_local_path(path), text)
        if self._store is not None:
            store = self._store
            return bool(self._call(path, lambda: store.create(self._key(path), text)))
        try:
            self._write(path, text, overwrite=False)
        except Py4JJavaError as error:
            if "FileAlreadyExistsException" in list_cause_names(error):
                return False
            raise self._build_failure(path, error) from error
        return True

    def replace(self, path: str, text: str) -> None:
        """Write the file anew. Readers on other storages than local disks may see it empty for a moment."""
        if self._local:
            _replace_local(_local_path(path), text)
            return
        self._call(path, lambda: self._write(path, text, overwrite=True))

    def swap(self, path: str, seen: str, text: str) -> bool:
        """Write the file anew if it still holds what was seen. Only through S3A is the look a part of the write."""
        if self._store is not None:
            store = self._store
            return bool(self._call(path, lambda: store.swap(self._key(path), seen, text)))
        self.replace(path, text)
        return True

    def supplant(self, path: str, seen: str, text: str) -> bool:
        """Put this text in the place of the one that was seen; False where another process was faster. Of several one wins."""
        if self._store is not None:
            return self.swap(path, seen, text)
        aside = f"{path}.{uuid4().hex[:8]}.old"
        if not self.rename(path, aside):
            return False
        moved = self.read(aside)
        ours = moved is not None and moved[0] == seen
        if not ours and moved is not None:
            self.create(path, moved[0])  # it was a living one's: put it back
        self.delete(aside)
        return ours and self.create(path, text)

    def rename(self, path: str, target: str) -> bool:
        """Move a file; False where it is gone, so of several movers one wins."""
        if self._local:
            try:
                _local_path(path).rename(_local_path(target))
            except FileNotFoundError:
                return False
            return True
        try:
            return bool(self._fs.rename(self._java(path), self._java(target)))
        except Py4JJavaError as error:
            if "FileNotFoundException" in list_cause_names(error):
                return False
            raise self._build_failure(path, error) from error

    def delete(self, path: str) -> None:
        """Remove a file or folder; nothing where there is none."""
        recursive = True
        self._call(path, lambda: self._fs.delete(self._java(path), recursive))

    def _write(self, path: str, text: str, *, overwrite: bool) -> None:
        stream = self._fs.create(self._java(path), overwrite)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()

    def _key(self, path: str) -> str:
        return str(self._java(path).toUri().getPath()).lstrip("/")

    def _java(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def _call(self, path: str, action: Any) -> Any:
        try:
            return action()
        except Py4JJavaError as error:
            raise self._build_failure(path, error) from error

    @staticmethod
    def _build_failure(path: str, error: Py4JJavaError) -> LakeError:
        return LakeError(
            f"lake storage: {path} does not answer ({describe_failure(error)})",
            fix="check the path and its permissions",
        )


class _Store:
    """Objects of one bucket through the client that S3A made: its endpoint, its credentials."""

    def __init__(self, jvm: Any, fs: Any) -> None:
        self._jvm = jvm
        self._bucket = str(fs.getBucket())
        self._client = fs.getAmazonS3ClientForTesting("small files of hudi-reconcile")  # the one public door to it

    def create(self, key: str, text: str) -> bool:
        """Put the object if there is none. A store that does not honour the condition shows it by taking it twice."""
        if not self._put(key, text, "If-None-Match", "*"):
            return self._get(key)[0] == text  # the client asks again where it got no answer
        if self._put(key, text, "If-None-Match", "*"):
            _log.warning(
                "s3a://%s does not honour conditional writes: a lease there only names its holder", self._bucket
            )
        return True

    def swap(self, key: str, seen: str, text: str) -> bool:
        """Put the object over the one that still reads as seen; False where it does not, or is gone."""
        content, tag = self._get(key)
        return content == seen and (self._put(key, text, "If-Match", f'"{tag}"') or self._get(key)[0] == text)

    def _get(self, key: str) -> tuple[str | None, str]:
        try:
            s3_object = self._client.getObject(self._bucket, key)
        except Py4JJavaError as error:
            if _status(error) == 404:  # noqa: PLR2004 - HTTP's number
                return None, ""
            raise
        stream = s3_object.getObjectContent()
        try:
            text = bytes(stream.readAllBytes()).decode("utf-8", errors="replace")
        finally:
            stream.close()
        return text, str(s3_object.getObjectMetadata().getETag())

    def _put(self, key: str, text: str, header: str, value: str) -> bool:
        data = bytearray(text.encode())
        about = self._jvm.com.amazonaws.services.s3.model.ObjectMetadata()
        about.setContentLength(len(data))
        stream = self._jvm.java.io.ByteArrayInputStream(data)
        put = self._jvm.com.amazonaws.services.s3.model.PutObjectRequest(self._bucket, key, stream, about)
        put.putCustomRequestHeader(header, value)
        try:
            self._client.putObject(put)
        except Py4JJavaError as error:
            if _status(error) in _REFUSED:
                return False
            raise
        return True


def _status(error: Py4JJavaError) -> int | None:
    java = error.java_exception
    return int(java.getStatusCode()) if "AmazonS3Exception" in list_cause_names(error)[:1] else None


def _local_path(path: str) -> Path:
    # Hadoop decodes nothing after the scheme, so neither percent signs nor `#` may be touched.
    return Path("/" + path.removeprefix("file:").lstrip("/")) if path.startswith("file:") else Path(path)


def _create_local(path: Path, text: str) -> bool:
    # Hadoop's local create(overwrite=false) looks first and creates later; a hard link to a whole file does both at once.
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = _draft(path, text)
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
        finally:
            draft.unlink()
    except OSError as error:
        raise _local_failed(path, error) from error
    return True


def _replace_local(path: Path, text: str) -> None:
    try:
        _draft(path, text).replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise _local_failed(path, error) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _draft(path: Path, text: str) -> Path:
    draft = path.with_name(f"{path.name}.{uuid4().hex[:8]}.tmp")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())  # what is written after it, a delivery, must not outlive it
    return draft


def _local_failed(path: Path, error: OSError) -> LakeError:
    return LakeError(
        f"lake storage: {path} cannot be written: {error.strerror}", fix="check the path and its permissions"
    )
