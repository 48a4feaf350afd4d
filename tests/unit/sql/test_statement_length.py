"""Statements about thousands of segments or keys: as long as a server takes, whatever the table holds."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.sweep.segments import MAX_SEGMENTS, RangeSegments, SegmentSet
from hudi_reconcile.core.tables.key_encoding import ASKED_AT_ONCE, MOST_ASKED
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.databases.jdbc.dialect import GenericDialect
from hudi_reconcile.databases.jdbc.products import product
from hudi_reconcile.databases.mysql import dialect as mysql
from hudi_reconcile.databases.postgres import dialect as postgres
from hudi_reconcile.source.reads import build_range_reads
from hudi_reconcile.sql.dialect import Dialect
from hudi_reconcile.sql.reads import keys_predicate, segment_counts

MOST_BYTES = 1 << 20  # MySQL's max_allowed_packet may be 1 MiB, and no server here takes less
DIALECTS: tuple[Dialect, ...] = (postgres, mysql, GenericDialect(product("h2")))
KEY = Column("order_id", Kind.INTEGER, "bigint", nullable=False, bits=64)
TABLE = SourceTable("public.orders", (KEY,), ("order_id",), 10**9, "server/orders")
# Keys as wide as they come, and no two segments next to each other: no range can be merged with another.
CUT = RangeSegments("order_id", -(2**62), 2**49, MAX_SEGMENTS)
SCATTERED = SegmentSet.of(range(0, MAX_SEGMENTS, 2))


@pytest.mark.parametrize("dialect", DIALECTS, ids=[one.NAME for one in DIALECTS])
def test_statements_about_every_other_segment_stay_under_a_servers_limit(dialect: Dialect) -> None:
    (read,) = build_range_reads(dialect, TABLE, CUT, SCATTERED, (), lanes=1)
    counts = segment_counts(dialect, TABLE.name, CUT, SCATTERED, ())

    assert len(read.query) < MOST_BYTES
    assert max(map(len, counts)) < MOST_BYTES
    assert len(counts) <= -(-len(SCATTERED.ids) // dialect.RANGES_AT_ONCE)


@pytest.mark.parametrize("dialect", DIALECTS, ids=[one.NAME for one in DIALECTS])
def test_statements_that_name_keys_stay_under_a_servers_limit(dialect: Dialect) -> None:
    keys = tuple((str(-(2**63) + place),) for place in range(ASKED_AT_ONCE))

    named = keys_predicate(dialect, (KEY,), keys)

    assert named is not None
    assert len(named) < MOST_BYTES // 8
    assert MOST_ASKED // ASKED_AT_ONCE <= 200  # as many statements at most
