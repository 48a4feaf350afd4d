"""Oracle's SQL as text: each odd form stands here with its reason. No server was asked."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.agreement import Compared
from hudi_reconcile.core.kinds import Column, Kind
from hudi_reconcile.core.segments import HashSegments, KeyRange, RangeSegments, SegmentSet
from hudi_reconcile.sql.dialects import oracle
from hudi_reconcile.sql.digests import Digested, bucket_predicate, digest_query
from hudi_reconcile.sql.pushdown import oracle as pushdown

NLS = "'nls_numeric_characters=''.,'''"


def column(data_type: str, precision: int | None = None, scale: int | None = None) -> Column:
    return oracle.column_of("C", data_type, (precision, scale), declared=data_type, nullable=True)


def canonical(found: Column, digits: tuple[int, int] | None = None, cut: int | None = None) -> str:
    return pushdown.canonical(Compared(0, found, "", digits, cut))


@pytest.mark.parametrize("name", ['a"b', "a\0b"])
def test_name_that_no_oracle_identifier_can_be_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="double quote"):
        oracle.quote(name)


@pytest.mark.parametrize(
    ("data_type", "digits", "kind"),
    [
        ("NUMBER", (10, 0), Kind.INTEGER),
        ("NUMBER", (18, 0), Kind.INTEGER),
        ("NUMBER", (19, 0), Kind.DECIMAL),  # may be beyond 64 bits
        ("NUMBER", (None, 0), Kind.DECIMAL),  # INTEGER
        ("NUMBER", (12, 2), Kind.DECIMAL),
        ("NUMBER", (None, None), Kind.NUMBER),  # any decimal: its scale is the value's
        ("NUMBER", (5, -2), Kind.NUMBER),
        ("NUMBER", (2, 5), Kind.NUMBER),
        ("FLOAT", (126, None), Kind.NUMBER),  # decimal digits in spite of its name
        ("DATE", (None, None), Kind.TIMESTAMP),  # has a time of day
        ("TIMESTAMP(6)", (None, 6), Kind.TIMESTAMP),
        ("TIMESTAMP(3) WITH TIME ZONE", (None, 3), Kind.TIMESTAMPTZ),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", (None, 6), Kind.TIMESTAMPTZ),
        ("INTERVAL DAY(2) TO SECOND(6)", (2, 6), Kind.OWN_TEXT),
        ("INTERVAL YEAR(2) TO MONTH", (2, 0), Kind.OWN_TEXT),
        ("LONG", (None, None), Kind.OTHER),  # stands in no expression
        ("SDO_GEOMETRY", (None, None), Kind.OTHER),
    ],
)
def test_type_has_its_kind(data_type: str, digits: tuple[int | None, int | None], kind: Kind) -> None:
    found = column(data_type, *digits)

    assert found.kind is kind
    assert bool(found.why) == (kind is Kind.OTHER)


def test_date_keeps_whole_seconds_and_timestamps_their_digits() -> None:
    assert (column("DATE").precision, column("TIMESTAMP(9)", None, 9).precision) == (0, 9)


@pytest.mark.parametrize(
    ("found", "sql"),
    [
        (column("NUMBER"), f"to_char(\"C\", 'TM9', {NLS})"),  # without the mask a German session writes 1,5
        (column("TIMESTAMP(6) WITH TIME ZONE", None, 6), "cast(\"C\" at time zone 'UTC' as timestamp)"),
        (column("XMLTYPE"), 'xmlserialize(content "C" as clob)'),
        (column("VARCHAR2"), '"C"'),
    ],
)
def test_column_is_read_without_what_driver_or_session_would_alter(found: Column, sql: str) -> None:
    assert oracle.read(found) == sql


def test_date_column_is_met_by_a_date_so_that_its_index_serves_unless_the_fraction_counts() -> None:
    day, at = column("DATE"), column("TIMESTAMP(6)", None, 6)

    assert oracle.literal(day, 1_000_000) == "to_date('1970-01-01 00:00:01', 'YYYY-MM-DD HH24:MI:SS')"
    assert oracle.literal(day, 1_500_000) == "timestamp '1970-01-01 00:00:01.500000'"
    assert oracle.literal(at, 1) == "timestamp '1970-01-01 00:00:00.000001'"
    assert oracle.literal(column("TIMESTAMP(6) WITH TIME ZONE"), 1).endswith("00:00:00.000001 UTC'")


def test_ranges_are_joined_as_json_in_literals_below_4000_bytes_and_null_keys_apart() -> None:
    ranges = (
        *(KeyRange(-(2**63) + 2 * i, -(2**63) + 2 * i + 1) for i in range(100)),
        KeyRange(None, None, nulls=True, keys=False),
    )

    parts = oracle.ranges_query("x", "t", "ID", ranges, ("a = 1",)).split(" union all ")

    assert len(parts) == 3
    assert all(len(part) < 4_000 for part in parts)
    assert parts[0].startswith("select x from json_table('[[-9223372036854775808,-9223372036854775808],[")
    assert parts[0].endswith('hr_r, t where (a = 1) and ("ID" between hr_r.hr_low and hr_r.hr_last)')
    assert parts[2] == 'select x from t where (a = 1) and ("ID" is null)'


def test_share_by_hash_counts_from_zero_to_the_second_argument() -> None:
    assert oracle.hash_predicate((("c0", column("NUMBER", 9, 0)),), 1, 4) == "ora_hash(to_char(c0), 3) = 1"


def test_julian_days_and_nanoseconds_are_looked_for() -> None:
    assert oracle.uncarried(column("DATE")) == "\"C\" < date '1582-10-15'"
    assert oracle.uncarried(column("TIMESTAMP(9)", None, 9)) == (
        '"C" < timestamp \'1582-10-15 00:00:00\' or "C" <> cast("C" as timestamp(6))'
    )
    assert oracle.uncarried(column("VARCHAR2")) is None


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        (canonical(column("NUMBER", 9, 0)), "to_char(\"C\", 'TM9')"),
        # FM leaves out blanks; the 0 before D writes 0.50, not .50
        (canonical(column("NUMBER", 5, 2), (5, 2)), f"to_char(\"C\", 'FM990D00', {NLS})"),
        (canonical(column("NUMBER", 5, 5), (5, 5)), f"to_char(\"C\", 'FM0D00000', {NLS})"),
        (canonical(column("NUMBER", 5, 3), (5, 3), 1), f"to_char(trunc(\"C\", 1), 'FM90D000', {NLS})"),
        (
            canonical(column("NUMBER")),
            f"regexp_replace(to_char(\"C\", 'TM9', {NLS}), '^(-?)\\.', '\\10.')",
        ),  # writes .5
        (canonical(column("CHAR")), 'rtrim("C")'),
        (canonical(column("DATE")), "to_char(round((\"C\" - date '1970-01-01') * 86400) * 1000000, 'TM9')"),
    ],
)
def test_canonical_text(text: str, sql: str) -> None:
    assert text == sql


def test_micros_are_those_of_an_interval_whose_parts_share_one_sign() -> None:
    found = canonical(column("TIMESTAMP(6) WITH TIME ZONE", None, 6))

    since = "(sys_extract_utc(\"C\") - timestamp '1970-01-01 00:00:00')"
    assert found == (
        f"to_char(floor(extract(day from {since}) * 86400000000 + extract(hour from {since}) * 3600000000"
        f" + extract(minute from {since}) * 60000000 + extract(second from {since}) * 1000000), 'TM9')"
    )


def test_empty_text_is_null_so_that_its_length_is_asked_for_and_null_is_told_by_the_column_itself() -> None:
    item = Compared(0, column("CHAR"), "string")

    sql = digest_query(pushdown, "t", Digested((item,), (item,), HashSegments(("C",), 8)))

    assert 'select /*+ no_merge */ "C" as r0, rtrim("C") as t0 from t' in sql
    assert (
        "case when r0 is null then '~' else to_char(nvl(lengthb(convert(t0, 'AL32UTF8')), 0)) || ':' || t0 end" in sql
    )
    assert "'XXXXXXXX'), 8) as hr_segment" in sql


def test_segment_of_a_key_is_rounded_down_and_only_asked_rows_are_read() -> None:
    item = Compared(0, column("NUMBER", 18, 0), "bigint")
    what = Digested((item,), (item,), RangeSegments("C", -20, 10, 4))

    sql = digest_query(pushdown, "t", what, segments=SegmentSet.of([1]))

    assert (
        "case when r0 is null then 4 when r0 < -10 then 0 when r0 >= 10 then 3 else floor(r0 / 10) - (-2) end as hr_segment"
    ) in sql
    assert "'[[-10,-1]]'" in sql


def test_rows_of_some_buckets_have_no_percent_sign() -> None:
    item = Compared(0, column("NUMBER", 9, 0), "int")

    sql = bucket_predicate(pushdown, (item,), 8, SegmentSet.of([3, 5]))

    assert sql.startswith("mod(to_number(substr(rawtohex(standard_hash(convert(")
    assert sql.endswith("'XXXXXXXX'), 8) in (3, 5)")


def test_filler_is_longer_than_a_text_of_oracle_may_be() -> None:
    assert pushdown.filler(9_000) == "select rpad(to_clob('x'), 9000, 'x') as hr_x from dual"
