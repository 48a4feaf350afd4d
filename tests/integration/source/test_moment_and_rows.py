"""The safe bound on real transactions, values that JDBC would alter, and rows read once each whatever the segments."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.pull.cursor import Mark, Order, build_full_window, build_next_window
from hudi_reconcile.core.sweep.segments import HashSegments, KeyExtent, RangeSegments, Segmentation, SegmentSet, choose
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.core.tables.values import SUBSCRIBER
from hudi_reconcile.databases.base import TableRequest
from hudi_reconcile.ports import Survey
from hudi_reconcile.source.table_source import TableSource
from tests.integration.source.support import engine, source
from tests.integration.source.test_engine import drop_role, role
from tests.support.postgres import Database

SECOND = 1_000_000
LEAST, GREATEST = -(2**63), 2**63 - 1


@pytest.fixture
def table(pg: Database) -> Database:
    pg.execute("create table t (id bigint primary key, at timestamp)")
    return pg


def test_open_transaction_holds_the_bound_below_its_start(table: Database) -> None:
    with table.connect() as holder, source(table, "t") as found:
        (began,) = holder.execute("select (extract(epoch from now()) * 1000000)::bigint").fetchone() or (0,)
        holder.execute("insert into t values (1, now())")
        first = found.read_moment()
        second = found.read_moment()

    assert first.bound_micros == second.bound_micros == began - 2 * SECOND
    assert "oldest open transaction" in first.bound_why


def test_transaction_that_has_not_written_yet_holds_the_bound_below_its_start(table: Database) -> None:
    with table.connect() as holder, source(table, "t") as found:
        # It has a time, which its rows will carry, and no transaction number that a snapshot could show.
        row = holder.execute(
            "select (extract(epoch from now()) * 1000000)::bigint, pg_current_xact_id_if_assigned()"
        ).fetchone()
        assert row is not None
        moment = found.read_moment()
        holder.execute("insert into t values (1, now())")
        holder.commit()

    assert row[1] is None
    assert moment.bound_micros == row[0] - 2 * SECOND


def test_quiet_server_bounds_two_seconds_behind_its_clock(table: Database) -> None:
    with source(table, "t") as found:
        moment = found.read_moment()

    assert moment.clock_micros - moment.bound_micros == 2 * SECOND
    assert abs(moment.clock_micros - int(datetime.now(UTC).timestamp() * SECOND)) < 60 * SECOND


def test_transaction_of_another_database_does_not_hold_the_bound(table: Database) -> None:
    administrator = Database(table.server, table.server.database)
    with administrator.connect() as holder, source(table, "t") as found:
        holder.execute("select 1")
        assert found.read_moment().bound_why == "database clock minus 2 s"


def test_transaction_of_a_session_that_tracks_nothing_is_said_to_be_unseen(table: Database) -> None:
    with table.connect() as holder, source(table, "t") as found:
        holder.execute("set track_activities = off")
        holder.execute("select 1")
        moment = found.read_moment()

    assert moment.clock_micros - moment.bound_micros == 5 * SECOND
    assert "track_activities is off for 1 sessions" in moment.bound_why


def test_database_that_subscribes_says_that_its_publishers_transactions_are_unseen(table: Database) -> None:
    subscribe = "create subscription s connection 'host=127.0.0.1 dbname=none' publication p with (connect = false)"
    with table.connect(autocommit=True) as administrator, source(table, "t") as found:
        alone = found.read_moment()
        administrator.execute(subscribe)
        administrator.execute(
            "insert into pg_subscription_rel select s.oid, 't'::regclass, 'i' from pg_subscription s join pg_database d"
            " on d.oid = s.subdbid where d.datname = current_database()"
        )
        subscribed = found.read_moment()
        administrator.execute("alter subscription s set (slot_name = none)")
        administrator.execute("drop subscription s")

    assert (alone.notes, subscribed.notes) == ((), (SUBSCRIBER,))


def test_role_that_cannot_see_sessions_is_told_so(table: Database) -> None:
    login = role(table, "plain")
    try:
        with engine(table, **login) as found, table.connect() as holder:
            holder.execute("select 1")
            moment = TableSource(found, TableRequest(name="t", table="t"), None, zone="UTC").read_moment()
    finally:
        drop_role(table, login)

    assert moment.clock_micros - moment.bound_micros == 5 * SECOND
    assert "pg_read_all_stats" in moment.bound_why


def test_snapshot_changes_with_every_commit_and_only_then(table: Database) -> None:
    with source(table, "t") as found:
        before = found.read_moment().snapshot
        found.count_rows(found.describe())
        assert found.read_moment().snapshot == before
        table.execute("insert into t values (1, now())")
        assert found.read_moment().snapshot != before


@pytest.mark.parametrize(
    ("zone", "hours"), [("UTC", 0), ("Europe/Berlin", 1), ("America/New_York", -5), ("Asia/Kolkata", 5.5)]
)
def test_zone_of_the_source_is_ahead_of_utc_by_its_offset(table: Database, zone: str, hours: float) -> None:
    winter = int(datetime(2026, 1, 15, tzinfo=UTC).timestamp()) * SECOND

    with source(table, "t", zone=zone) as found:
        assert found.zone_offset_micros(winter) == hours * 3600 * SECOND


@pytest.mark.parametrize(
    ("values", "altered"),
    [
        ("null, null, null", ()),
        ("'0001-01-01', '9999-12-31', '9999-12-31 23:59:59.999999Z'", ()),
        ("'infinity', '2026-01-01', '2026-01-01'", ("at",)),
        ("'2026-01-01', '-infinity', '2026-01-01'", ("day",)),
        ("'2026-01-01', '2026-01-01', 'infinity'", ("zoned",)),
        ("'0044-03-15 BC', '0044-03-15 BC', '0044-03-15 BC'", ("at", "day", "zoned")),
        ("'10000-01-01', '10000-01-01', '10000-01-01Z'", ("at", "day", "zoned")),
        ("'1582-10-10', '1582-10-10', '1582-10-10'", ("at", "day", "zoned")),
        ("'1582-10-04 23:59:59', '1582-10-04', '1582-10-04'", ()),
        ("'1582-10-15', '1582-10-15', '1582-10-15'", ()),
    ],
)
def test_dates_that_the_driver_would_alter_are_named_by_column(
    pg: Database, values: str, altered: tuple[str, ...]
) -> None:
    pg.execute(
        "create table t (id int primary key, at timestamp, day date, zoned timestamptz)",
        "set time zone 'UTC'",
        f"insert into t values (1, {values})",
    )

    with source(pg, "t") as found:
        assert found.find_altered(found.describe()) == altered
        assert found.survey(found.describe(), RangeSegments("id", 0, 10, 7))() == Survey(1, altered)


def test_segments_narrow_where_altered_values_are_looked_for_within_the_filter(pg: Database) -> None:
    pg.execute(
        "create table t (id int primary key, kept boolean, at timestamp, amount numeric(9,2))",
        "insert into t values (1, true, 'infinity', 1), (25, true, '2026-01-01', 'NaN'), (47, false, '-infinity', 1)",
    )
    cut = RangeSegments("id", 0, 10, 7)

    with source(pg, "t", where="kept") as found:
        asked = {
            ids: found.survey(found.describe(), cut, SegmentSet.of(ids))()
            for ids in ((0,), (1,), (2,), (4,), (0, 2), (1, 5), (5, 6))
        }

    assert asked == {
        (0,): Survey(None, ("at",)),
        (1,): Survey(None, ()),
        (2,): Survey(None, ("amount",)),
        (4,): Survey(None, ()),
        (0, 2): Survey(None, ("at", "amount")),
        (1, 5): Survey(None, ()),
        (5, 6): Survey(None, ()),
    }


def test_survey_raises_what_its_statement_raised_where_it_is_waited_for(table: Database) -> None:
    with source(table, "t") as found:
        described = found.describe()
        table.execute("drop table t")

        answer = found.survey(described, RangeSegments("id", 0, 10, 7))

        with pytest.raises(SourceError, match="does not exist"):
            answer()


def test_window_narrows_where_altered_dates_are_looked_for(table: Database) -> None:
    table.execute("insert into t values (1, '-infinity'), (2, '2026-01-01')")

    with source(table, "t", watermark=("at",)) as found:
        described = found.describe()
        assert found.find_altered(described, build_next_window(Order(("at",)), Mark(0), None)) == ()
        assert found.find_altered(described, build_full_window(Order(("at",)))) == ("at",)


# --- rows ---


def ids(frame: Any) -> list[Any]:
    assert isinstance(frame, DataFrame)
    return sorted((row["c0"] for row in frame.collect()), key=str)


def test_rows_of_segments_are_read_once_each_and_all_of_them_make_the_table(spark: SparkSession, pg: Database) -> None:
    keys = [None, LEAST, LEAST + 1, -101, -100, -99, -1, 0, 1, 2, 99, 100, 101, 2**53 + 1, GREATEST - 1, GREATEST]
    values = ", ".join("(null)" if key is None else f"('{key}')" for key in keys)
    pg.execute("create table t (id bigint)", f"insert into t values {values}")

    with source(pg, "t", spark, key=("id",)) as found:
        table = found.describe()
        for extent in (KeyExtent(LEAST, GREATEST, 16), KeyExtent(-101, 101, 16), KeyExtent(0, 0, 1)):
            cut = choose(("id",), extent, integer_key=True, wanted=4)
            assert not isinstance(cut, HashSegments)
            assert ids(found.read_rows(table, cut)) == sorted(keys, key=str)
            for chosen in ({0}, {cut.count}, {0, cut.count}, set(range(cut.count + 1)), {cut.count - 1}):
                expected = sorted((key for key in keys if cut.find_segment(key) in chosen), key=str)
                assert ids(found.read_rows(table, cut, SegmentSet.of(chosen))) == expected, (cut, chosen)


@pytest.mark.parametrize(
    "cut", [HashSegments(("id", "k"), 5), choose(("id",), KeyExtent(1, 90, 90), integer_key=True, wanted=3)]
)
def test_parallel_read_of_a_large_table_reads_every_row_once(
    spark: SparkSession, pg: Database, cut: Segmentation
) -> None:
    pg.execute(
        "create table t (id int, k text, primary key (id, k))",
        "insert into t select i % 90, 'k' || i from generate_series(1, 60000) i",
        "analyze t",
    )

    with source(pg, "t", spark) as found:
        frame = found.read_rows(found.describe(), cut)
        assert isinstance(frame, DataFrame)
        assert frame.rdd.getNumPartitions() == 2
        assert frame.count() == frame.distinct().count() == 60_000


def test_pull_stages_what_it_counts(spark: SparkSession, pg: Database) -> None:
    pg.execute(
        "create table t (id int primary key, at timestamp(0), day date)",
        "insert into t values (1, '2026-01-01', null), (2, null, null), (3, '2026-01-02', '2026-01-05'),"
        " (4, '2026-01-09', '2026-01-01')",
    )
    micros = {day: int(datetime(2026, 1, day, tzinfo=UTC).timestamp()) * SECOND for day in range(1, 10)}

    with source(pg, "t", spark, watermark=("at", "day")) as found:
        table = found.describe()
        assert [column.kind for column in table.columns[1:]] == [Kind.TIMESTAMP, Kind.DATE]
        cut = choose(("id",), KeyExtent(1, 4, 4), integer_key=True, wanted=1)
        whole = found.stage_rows(table, cut, build_full_window(Order(("at", "day"))), micros[9])
        window = found.stage_rows(
            table, cut, build_next_window(Order(("at", "day")), Mark(micros[1]), micros[9]), micros[9]
        )

    # Count, checkpoint and rows are of one read: what the source holds by now is not asked again.
    pg.execute("truncate t")
    assert (whole.rows, whole.greatest, whole.null_watermark_rows) == (4, Mark(micros[5]), 1)
    assert ids(whole.frame) == [1, 2, 3, 4]
    assert (window.rows, window.greatest) == (1, Mark(micros[5]))
    assert ids(window.frame) == [3]


def test_window_tells_rows_apart_that_are_one_microsecond_apart(spark: SparkSession, table: Database) -> None:
    table.execute(
        "insert into t select i, timestamp '2026-01-01' + i * interval '1 microsecond' from generate_series(0, 3) i"
    )
    first = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * SECOND

    with source(table, "t", spark, watermark=("at",)) as found:
        described = found.describe()
        cut = choose(("id",), KeyExtent(0, 3, 4), integer_key=True, wanted=1)
        window = build_next_window(Order(("at",)), Mark(first + 1), first + 3)
        staged = found.stage_rows(described, cut, window, first + 3)

    assert (staged.rows, staged.greatest) == (1, Mark(first + 2))
    assert ids(staged.frame) == [2]


def test_odd_names_and_predicates_survive_the_row_read(spark: SparkSession, pg: Database) -> None:
    pg.execute(
        'create table "T:1 100% ?" ("Id" bigint primary key, "a:b%s?" text, "x""y" int)',
        "insert into \"T:1 100% ?\" values (1, 'a:b 100%?', 1), (2, 'z', 2)",
    )

    with source(pg, '"T:1 100% ?"', spark, where="\"a:b%s?\" like 'a:b 100%?'") as found:
        table = found.describe()
        cut = choose(("Id",), found.measure_extent(table), integer_key=True, wanted=1)
        frame = found.read_rows(table, cut)
        assert isinstance(frame, DataFrame)
        assert [tuple(row) for row in frame.collect()] == [(1, "a:b 100%?", 1)]
        again = found.read_rows(table, cut, SegmentSet.of([0]))
        assert ids(again) == [1]
