"""The stored positions of a table's consumers: one file each, in `.<name>.hr-consumers/` beside the table's folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from hudi_reconcile.core.changes.consumers import ConsumerPosition, format_position, parse_position
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.lease import Renewal, release_lease, take

_SUFFIX = ".json"


class Positions:
    """Reads and replaces positions. Every method raises LakeError where the storage does not answer."""

    def __init__(self, spark: SparkSession, table_path: str) -> None:
        parent, _, name = table_path.rstrip("/").rpartition("/")
        self._folder = (
            f"{parent}/.{name}.hr-consumers" if parent or table_path.startswith("/") else f".{name}.hr-consumers"
        )
        self._files = Files(spark, table_path)

    def read(self, consumer: str) -> ConsumerPosition | None:
        """The consumer's position; None for one that has none yet. Raises LakeError for a damaged file."""
        path = self._path(consumer)
        content = self._files.read(path)
        return None if content is None else parse_position(content[0], consumer, path)

    def list_all(self) -> tuple[ConsumerPosition, ...]:
        """Every consumer's position, by name. Raises LakeError for a damaged file, as `read` does."""
        files = (file.name for file in self._files.list(self._folder))
        positions = (name for name in files if name.endswith(_SUFFIX) and not name.startswith("."))  # leases do
        names = sorted(name.removesuffix(_SUFFIX) for name in positions)
        return tuple(position for name in names if (position := self.read(name)) is not None)

    @contextmanager
    def hold(self, consumer: str) -> Iterator[Callable[[], None]]:
        """Keep other calls for this consumer out: two that deliver at once would leave its target behind its position.

        Gives what to call before each delivery: it raises SupersededError where another call has taken over meanwhile.

        An interrupted process leaves its lease, which the next one takes over.
        Raises RefusedError while another living process is at it.
        """
        path = f"{self._folder}/{consumer}"
        taken = take(self._files, path, f"another call for consumer {consumer}", since="")
        with release_lease(self._files, path, taken), Renewal(self._files, path, taken.lease) as renewal:
            yield renewal.refuse_lost

    def write(self, position: ConsumerPosition) -> None:
        """Store a position in place of the consumer's earlier one."""
        path, text = self._path(position.consumer), format_position(position)
        if not self._files.create(path, text):
            self._files.replace(path, text)

    def _path(self, consumer: str) -> str:
        return f"{self._folder}/{consumer}{_SUFFIX}"
