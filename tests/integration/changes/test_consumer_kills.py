"""A consumer that ends anywhere, again and again: its target is always a state of the lake, at last the newest.

By exceptions; `make consumer-kills` kills processes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.changefeed import postgres_sink
from hudi_reconcile.core.changes.consumers import ConsumerPosition
from hudi_reconcile.lake.changes.positions import Positions
from tests.integration.changes.copies import Copy
from tests.support.postgres import Database

Ending = Callable[[pytest.MonkeyPatch], None]


class Ended(Exception):  # noqa: N818 - what happens to a process
    pass


def before_the_end_is_stored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Positions, "write", raising)


def before_the_delivery(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(postgres_sink.PostgresTarget, "apply", raising)


def inside_the_transaction(patch: pytest.MonkeyPatch) -> None:
    original = postgres_sink._copy_rows

    def copied(*arguments: Any) -> int:
        original(*arguments)
        raise Ended

    patch.setattr(postgres_sink, "_copy_rows", copied)


def after_the_delivery(patch: pytest.MonkeyPatch) -> None:
    original = Positions.write

    def write(self: Positions, position: ConsumerPosition) -> None:
        if position.pending is None:
            raise Ended
        original(self, position)

    patch.setattr(Positions, "write", write)


def raising(*_: Any, **__: Any) -> None:
    raise Ended


# Where it ends, and whether the target has the delivery then.
PLACES: tuple[tuple[Ending, bool], ...] = ((before_the_delivery, False), (after_the_delivery, True))
FURTHER: tuple[tuple[Ending, bool], ...] = ((before_the_end_is_stored, False), (inside_the_transaction, False))


def test_consumer_that_ends_around_a_delivery_beside_a_writer_leaves_no_gap_and_ends_with_the_lake(
    spark: SparkSession, pg: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaves_no_gap(Copy.of(spark, tmp_path, pg, "merge_on_read", "op_key_only"), monkeypatch, PLACES)


def leaves_no_gap(copy: Copy, monkeypatch: pytest.MonkeyPatch, places: tuple[tuple[Ending, bool], ...]) -> None:
    for place, is_delivered in places:
        copy.write()
        earlier = copy.rows()
        with monkeypatch.context() as patch:
            place(patch)
            assert copy.bring(patch) == 3
        assert (copy.rows() != earlier) == is_delivered, place
        assert copy.rows() in copy.states()
    copy.write()

    assert copy.bring(monkeypatch) == 0
    assert copy.rows() == copy.states()[-1]
