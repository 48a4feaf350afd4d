from __future__ import annotations

import pytest

from hudi_reconcile.core.pull.cursor import Mark, Order, build_full_window, build_next_window
from hudi_reconcile.core.sweep.segments import KeyRange
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.databases.postgres import dialect
from hudi_reconcile.sql import reads, windows

AT = Column("at", Kind.TIMESTAMP, "timestamp without time zone", precision=6)
ZONED = Column("zoned", Kind.TIMESTAMPTZ, "timestamp with time zone", precision=6)
DAY = Column("day", Kind.DATE, "date")
SECOND = 1_000_000


def column(type_name: str, type_mod: int = -1) -> Column:
    return dialect.classify_column("c", type_name, type_mod, declared=f"declared {type_name}", nullable=True)


def numeric_mod(precision: int, scale: int) -> int:
    return ((precision << 16) | (scale & 0x7FF)) + 4


# --- names ---


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("order", '"order"'),
        ('a"; drop table x; --', '"a""; drop table x; --"'),
        ("Größe 中文", '"Größe 中文"'),
        ("a.b:c%d`e'f", '"a.b:c%d`e\'f"'),
        ('"', '""""'),
    ],
)
def test_name_is_quoted_whatever_it_holds(name: str, quoted: str) -> None:
    assert dialect.quote(name) == quoted


def test_name_with_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        dialect.quote("a\0b")


# --- types ---


@pytest.mark.parametrize(
    ("type_name", "kind", "bits"),
    [
        ("int2", Kind.INTEGER, 16),
        ("int4", Kind.INTEGER, 32),
        ("int8", Kind.INTEGER, 64),
        ("bool", Kind.BOOLEAN, None),
        ("text", Kind.TEXT, None),
        ("varchar", Kind.TEXT, None),
        ("bpchar", Kind.CHAR, None),
        ("uuid", Kind.UUID, None),
        ("bytea", Kind.BYTES, None),
        ("float4", Kind.REAL, None),
        ("float8", Kind.DOUBLE, None),
        ("date", Kind.DATE, None),
    ],
)
def test_type_has_its_kind(type_name: str, kind: Kind, bits: int | None) -> None:
    found = column(type_name)

    assert (found.kind, found.bits, found.precision) == (kind, bits, None)


OWN_TEXTS = (
    "json jsonb interval _int4 mood money time timetz xml inet cidr macaddr bit varbit int4range hstore geometry"
)


@pytest.mark.parametrize("type_name", OWN_TEXTS.split())
def test_type_that_no_lake_type_holds_exactly_is_read_as_its_own_text(type_name: str) -> None:
    found = column(type_name)

    assert found.kind is Kind.OWN_TEXT
    assert dialect.read(found) == '"c"::text'


@pytest.mark.parametrize(("type_name", "type_type"), [("regclass", "b"), ("regproc", "b"), ("anyarray", "p")])
def test_type_whose_text_depends_on_the_reader_is_not_compared(type_name: str, type_type: str) -> None:
    found = dialect.classify_column("c", type_name, -1, declared=type_name, nullable=True, type_type=type_type)

    assert found.kind is Kind.OTHER
    assert "depends on who reads it" in found.why


@pytest.mark.parametrize(("type_mod", "digits"), [(-1, 6), (0, 0), (3, 3), (6, 6)])
def test_fraction_digits_of_a_timestamp_come_from_its_declaration(type_mod: int, digits: int) -> None:
    assert column("timestamp", type_mod).precision == digits
    assert column("timestamptz", type_mod).precision == digits


@pytest.mark.parametrize(("precision", "scale"), [(1, 0), (12, 2), (38, 0), (38, 38), (5, 5)])
def test_numeric_that_fits_38_digits_is_a_decimal(precision: int, scale: int) -> None:
    found = column("numeric", numeric_mod(precision, scale))

    assert (found.kind, found.precision, found.scale) == (Kind.DECIMAL, precision, scale)


@pytest.mark.parametrize(("precision", "scale"), [(39, 0), (1000, 2), (5, -2), (5, -1000), (3, 5), (2, 1000)])
def test_numeric_that_does_not_fit_is_a_number_carried_as_text(precision: int, scale: int) -> None:
    assert column("numeric", numeric_mod(precision, scale)).kind is Kind.NUMBER


def test_numeric_without_precision_is_read_as_text_without_trailing_zeros() -> None:
    found = column("numeric")

    assert found.kind is Kind.NUMBER
    assert dialect.read(found) == 'trim_scale("c")::text'


# --- reads ---


def test_columns_are_read_under_positional_names() -> None:
    columns = (
        Column("id", Kind.INTEGER, "smallint", bits=16),
        Column('odd "name"', Kind.CHAR, "character(3)"),
        Column("u", Kind.UUID, "uuid"),
        Column("n", Kind.INTEGER, "bigint", bits=64),
        Column("x", Kind.OTHER, "xml"),
    )

    found = reads.rows_query(dialect, '"s"."t"', columns, ("n > 0 or n < -5", "u is not null"))

    assert found == (
        'select "id"::int4 as c0, "odd ""name"""::text as c1, "u"::text as c2, "n" as c3, "x"::text as c4'
        ' from "s"."t" where (n > 0 or n < -5) and (u is not null)'
    )


@pytest.mark.parametrize(
    ("key_range", "predicate"),
    [
        (KeyRange(1, 5), "c0 >= 1 and c0 < 5"),
        (KeyRange(None, 5), "c0 < 5"),
        (KeyRange(1, None), "c0 >= 1"),
        (KeyRange(None, None), "c0 is not null"),
        (KeyRange(1, 5, nulls=True), "(c0 >= 1 and c0 < 5) or c0 is null"),
        # Read as "is null", this once made a sweep of one part see no row and say clean.
        (KeyRange(None, None, nulls=True), "1 = 1"),
        (KeyRange(None, None, nulls=True, keys=False), "c0 is null"),
    ],
)
def test_range_reads_its_keys_and_nulls_only_where_it_says_so(key_range: KeyRange, predicate: str) -> None:
    assert reads.range_predicate("c0", key_range) == predicate


def test_some_segments_are_read_through_the_index_in_one_join_and_null_keys_apart() -> None:
    ranges = (KeyRange(None, -5), KeyRange(10, 20), KeyRange(300, None), KeyRange(None, None, nulls=True, keys=False))

    found = dialect.ranges_query('"id" as c0', "t", "id", ranges, ("x > 1",))

    assert found == (
        "select \"id\" as c0 from unnest('{-9223372036854775808,10,300}'::bigint[],"
        " '{-6,19,9223372036854775807}'::bigint[]) as hr_r(hr_low, hr_last), t"
        ' where (x > 1) and ("id" between hr_r.hr_low and hr_r.hr_last)'
        ' union all select "id" as c0 from t where (x > 1) and ("id" is null)'
    )


def test_window_of_one_column_stays_open_to_an_index() -> None:
    found = windows.window_predicate(dialect, build_next_window(Order(("at",)), Mark(0), 5 * SECOND), {"at": AT})

    assert found == (
        "(\"at\" > timestamp '1970-01-01T00:00:00.000000') and \"at\" < timestamp '1970-01-01T00:00:05.000000'"
    )


def test_window_of_several_columns_takes_the_greatest_that_is_not_null() -> None:
    found = windows.window_predicate(
        dialect, build_next_window(Order(("at", "day")), Mark(0), 86_400 * SECOND), {"at": AT, "day": DAY}
    )

    assert found == (
        "(\"at\" > timestamp '1970-01-01T00:00:00.000000' or \"day\" > date '1970-01-01')"
        ' and ("at" is null or "at" < timestamp \'1970-01-02T00:00:00.000000\')'
        ' and ("day" is null or "day" < date \'1970-01-02\')'
    )


def test_literal_of_a_zoned_watermark_says_its_zone() -> None:
    found = windows.window_predicate(dialect, build_next_window(Order(("zoned",)), Mark(0), None), {"zoned": ZONED})

    assert found == "(\"zoned\" > timestamptz '1970-01-01T00:00:00.000000Z')"


def test_full_window_needs_no_predicate() -> None:
    assert windows.window_predicate(dialect, build_full_window(Order(("at",))), {"at": AT}) is None


def test_values_that_the_driver_alters_are_looked_for_in_calendar_and_decimal_columns_only() -> None:
    id_column = Column("id", Kind.INTEGER, "bigint")
    amount = Column("amount", Kind.DECIMAL, "numeric(12,2)", precision=12, scale=2)

    assert reads.altered_query(dialect, "t", (id_column,), ()) is None
    found = reads.altered_query(dialect, "t", (id_column, DAY, amount, AT), ("id > 1",))
    assert found is not None
    sql, names = found
    assert names == ("day", "amount", "at")
    assert sql.count("sum(case when") == 3
    assert "\"amount\" = 'NaN'" in sql
    assert sql.endswith("from t where (id > 1)")


def test_comment_at_the_end_of_a_predicate_ends_with_its_line() -> None:
    assert reads.where_clause(("a > 1 -- new", "b")) == " where (a > 1 -- new\n) and (b)"


# --- the safe bound ---

NOW = 1_700_000_000 * SECOND


@pytest.mark.parametrize(
    ("oldest", "prepared", "seconds_behind", "why"),
    [
        (None, None, 2, "database clock minus 2 s"),
        (NOW - 60 * SECOND, None, 62, "oldest open transaction"),
        (NOW, None, 2, "minus 2 s"),
        (None, NOW - 60 * SECOND, 960, "prepared"),
        (NOW - 5000 * SECOND, NOW - 60 * SECOND, 5002, "oldest open transaction"),
        (NOW - 60 * SECOND, NOW - 5000 * SECOND, 5900, "prepared"),
    ],
)
def test_bound_lies_before_everything_that_can_still_commit(
    oldest: int | None, prepared: int | None, seconds_behind: int, why: str
) -> None:
    bound, found_why = dialect.bound(NOW, oldest, prepared, sees_all=True)

    assert NOW - bound == seconds_behind * SECOND
    assert why in found_why


@pytest.mark.parametrize(("oldest", "seconds"), [(None, 5), (NOW - SECOND, 5), (NOW - 9 * SECOND, 11)])
def test_sessions_that_hide_their_transactions_cost_the_delay_of_a_role_that_sees_none(
    oldest: int | None, seconds: int
) -> None:
    bound, why = dialect.bound(NOW, oldest, None, sees_all=True, silent_sessions=2)

    assert NOW - bound == seconds * SECOND
    assert ("track_activities is off for 2 sessions" in why) == (seconds == 5)


@pytest.mark.parametrize("oldest", [None, NOW - SECOND])
def test_role_that_cannot_see_others_gets_a_fixed_delay_and_is_told_so(oldest: int | None) -> None:
    bound, why = dialect.bound(NOW, oldest, None, sees_all=False)

    assert NOW - bound == 5 * SECOND
    assert "pg_read_all_stats" in why
