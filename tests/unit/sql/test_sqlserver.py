"""SQL Server's SQL as text: each odd form stands here with its reason. No server was asked."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.agreement import Compared
from hudi_reconcile.core.kinds import Column, Kind
from hudi_reconcile.core.segments import HashSegments, KeyRange, RangeSegments
from hudi_reconcile.sql.dialects import sqlserver
from hudi_reconcile.sql.digests import Digested, digest_query
from hudi_reconcile.sql.pushdown import sqlserver as pushdown


def column(type_name: str, precision: int = 0, scale: int = 0) -> Column:
    return sqlserver.column_of("c", type_name, (precision, scale), declared=type_name, nullable=True)


def canonical(found: Column, digits: tuple[int, int] | None = None, cut: int | None = None) -> str:
    return pushdown.canonical(Compared(0, found, "", digits, cut))


def test_name_is_quoted_whatever_it_holds() -> None:
    assert sqlserver.quote('a]"b') == '[a]]"b]'
    with pytest.raises(ValueError, match="NUL"):
        sqlserver.quote("a\0")


@pytest.mark.parametrize(
    ("type_name", "kind", "precision"),
    [
        ("bit", Kind.BOOLEAN, None),
        ("tinyint", Kind.INTEGER, None),
        ("money", Kind.DECIMAL, 19),
        ("datetime", Kind.TIMESTAMP, 3),
        ("smalldatetime", Kind.TIMESTAMP, 0),
        ("datetime2", Kind.TIMESTAMP, 7),
        ("datetimeoffset", Kind.TIMESTAMPTZ, 7),
        ("date", Kind.DATE, None),
        ("uniqueidentifier", Kind.UUID, None),
        ("time", Kind.OWN_TEXT, None),
        ("rowversion", Kind.BYTES, None),
        ("sql_variant", Kind.OTHER, None),
    ],
)
def test_type_has_its_kind(type_name: str, kind: Kind, precision: int | None) -> None:
    found = column(type_name, 27, 7)

    assert (found.kind, found.precision) == (kind, precision)
    assert bool(found.why) == (kind is Kind.OTHER)


@pytest.mark.parametrize(
    ("type_name", "sql"),
    [
        (
            "datetime",
            "cast([c] as datetime2(3))",
        ),  # thirds of 10 ms: datetime2(7) shows .0033333 where the driver shows .003
        ("datetimeoffset", "cast(switchoffset([c], '+00:00') as datetime2(7))"),
        ("uniqueidentifier", "lower(convert(char(36), [c]))"),  # upper case here, lower elsewhere
        ("smallint", "cast([c] as int)"),  # Hudi keeps no smallint
        ("money", "cast([c] as decimal(19,4))"),
        ("time", "convert(varchar(33), [c], 126)"),
        ("hierarchyid", "[c].ToString()"),
        ("nvarchar", "[c]"),
    ],
)
def test_column_is_read_without_what_driver_or_session_would_alter(type_name: str, sql: str) -> None:
    assert sqlserver.read(column(type_name, 27, 7)) == sql


def test_datetime_is_met_by_a_datetime_since_003_becomes_0033333_beside_any_other_type() -> None:
    assert sqlserver.literal(column("datetime"), 3_000) == "cast('1970-01-01T00:00:00.003' as datetime)"
    assert sqlserver.literal(column("datetime2", 27, 7), 1) == "cast('1970-01-01T00:00:00.000001' as datetime2(6))"
    assert sqlserver.literal(column("datetimeoffset"), 1) == "cast('1970-01-01T00:00:00.000001Z' as datetimeoffset(6))"
    assert sqlserver.literal(column("date"), 0) == "cast('1970-01-01' as date)"


def test_text_is_grouped_by_its_bytes_since_every_collation_pads_blanks() -> None:
    assert sqlserver.exact("[c]", column("varchar")) == "convert(varbinary(8000), convert(nvarchar(4000), [c]))"
    assert "rtrim([c])" in sqlserver.exact("[c]", column("char"))
    assert sqlserver.exact("[c]", column("int")) == "[c]"


def test_ranges_are_joined_as_json_and_null_keys_apart() -> None:
    found = sqlserver.ranges_query(
        "x", "t", "id", (KeyRange(None, 5), KeyRange(None, None, nulls=True, keys=False)), ()
    )

    assert found == (
        "select x from openjson('[[-9223372036854775808,4]]') with (hr_low bigint '$[0]', hr_last bigint '$[1]') hr_r, t"
        " where ([id] between hr_r.hr_low and hr_r.hr_last) union all select x from t where ([id] is null)"
    )


def test_share_by_checksum_does_not_fail_at_the_least_int() -> None:
    assert sqlserver.hash_predicate((("c0", column("int")),), 1, 4) == "abs(cast(checksum(c0) as bigint)) % 4 = 1"


def test_seventh_digit_and_days_of_the_julian_calendar_are_looked_for() -> None:
    assert sqlserver.uncarried(column("datetime2", 27, 7)) == "[c] < '1582-10-15' or [c] <> cast([c] as datetime2(6))"
    assert sqlserver.uncarried(column("date")) == "[c] < '1582-10-15'"
    assert sqlserver.uncarried(column("datetime")) is None  # begins at 1753
    assert sqlserver.uncarried(column("int")) is None


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        (canonical(column("bigint")), "convert(varchar(20), [c])"),
        (canonical(column("bit")), "convert(char(1), [c])"),
        # money itself would be written with two digits
        (
            canonical(column("money"), (19, 4)),
            "convert(varchar(41), cast(cast([c] as decimal(19,4)) as decimal(19,4)))",
        ),
        (canonical(column("decimal", 9, 3), (9, 3), 1), "convert(varchar(41), cast(round([c], 1, 1) as decimal(9,3)))"),
        (canonical(column("date")), "convert(varchar(20), datediff(day, '1970-01-01', [c]))"),
        (
            canonical(column("datetime")),
            "convert(varchar(20), datediff_big(microsecond, '1970-01-01', cast([c] as datetime2(3))))",
        ),
        (canonical(column("varchar")), "cast([c] as nvarchar(max)) collate Latin1_General_100_BIN2"),
        (canonical(column("varbinary")), "lower(convert(varchar(max), cast([c] as varbinary(max)), 2))"),
    ],
)
def test_canonical_text(text: str, sql: str) -> None:
    assert text == sql


def test_decimal_kept_as_text_loses_its_zeros_and_a_point_at_the_end() -> None:
    found = canonical(Column("c", Kind.NUMBER, "decimal(9,2)", native="decimal"))

    text = "cast([c] as nvarchar(max))"
    assert found == (
        f"case when charindex('.', {text}) = 0 then {text} else"
        f" replace(replace(replace(rtrim(replace({text}, '0', ' ')), ' ', '0') + '|', '.|', ''), '|', '') end"
    )


def test_joined_text_is_never_cut_at_4000_characters() -> None:
    assert pushdown.joined(("a", "b")) == "cast('' as nvarchar(max)) + a + b"


def test_filler_is_as_long_as_asked() -> None:
    assert pushdown.filler(9_000) == "select replicate(cast('x' as varchar(max)), 9000) as hr_x"


def test_numbers_beyond_an_int_are_cast_since_their_literals_are_decimals() -> None:
    assert pushdown.remainder("v", 1 << 30) == "(v % cast(1073741824 as bigint))"
    assert "k / cast(5000000000 as bigint)" in pushdown.floored("k", 5_000_000_000)


def test_digest_takes_seven_bytes_and_a_half_so_that_it_has_no_sign() -> None:
    md5 = "hashbytes('MD5', cast((x) collate Latin1_General_100_BIN2_UTF8 as varchar(max)))"

    assert pushdown.md5_number("x", 8) == f"cast(substring({md5}, 1, 4) as bigint)"
    assert pushdown.md5_number("x", 15) == (
        f"(cast(substring({md5}, 1, 7) as bigint) * 16 + cast(substring({md5}, 8, 1) as bigint) / 16)"
    )


@pytest.mark.parametrize("cut", [HashSegments(("c",), 8), RangeSegments("c", -20, 10, 4)])
def test_digest_query_reads_each_row_once(cut: HashSegments | RangeSegments) -> None:
    item = Compared(0, column("bigint"), "bigint")

    sql = digest_query(pushdown, "t", Digested((item,), (item,), cut), predicates=("c > 1",))

    assert sql.count(" from t where (c > 1)") == 1
    assert sql.startswith("select hr_segment, count(hr_v) as hr_rows, sum(")
    assert sql.endswith(" hr_v group by hr_segment")
