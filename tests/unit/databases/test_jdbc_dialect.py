from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.source.jdbc import Reported
from hudi_reconcile.core.sweep.segments import KeyRange
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.schema_evolution import turn_to_text
from hudi_reconcile.databases.jdbc.dialect import GenericDialect, merge_ranges
from hudi_reconcile.databases.jdbc.products import PRODUCTS, product
from hudi_reconcile.sql.reads import keys_predicate

H2, DERBY, DUCKDB, UNKNOWN = (GenericDialect(product(name)) for name in ("h2", "derby", "duckdb", "foo"))
DAY = Column("day", Kind.DATE, "DATE")
AT = Column("at", Kind.TIMESTAMP, "TIMESTAMP", precision=6)
ZONED = Column("zoned", Kind.TIMESTAMPTZ, "TIMESTAMP WITH TIME ZONE", precision=6)


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("oracle", "date", """to_char(cast("c" as timestamp(9)), 'SYYYY-MM-DD"T"HH24:MI:SS.FF9', 'nls_calendar=gregorian')"""),
        ("tibero", "date", """to_char(cast("c" as timestamp(9)), 'SYYYY-MM-DD"T"HH24:MI:SS.FF9')"""),
        ("tibero", "timestamptz", """to_char(cast(sys_extract_utc("c") as timestamp(9)), 'SYYYY-MM-DD"T"HH24:MI:SS.FF9')"""),
        ("teradata", "date", """to_char("c", 'YYYY-MM-DD')"""),
        ("db2", "date", """varchar_format("c", 'YYYY-MM-DD')"""),
        ("sqlserver", "timestamp", """convert(nvarchar(40), "c", 126)"""),
        ("h2", "timestamp", """cast("c" as varchar)"""),
    ],
)  # fmt: skip
def test_dates_and_times_that_are_carried_as_text_keep_century_and_second(name: str, kind: str, text: str) -> None:
    column = turn_to_text(Column("c", Kind(kind), "DATE", native=kind))

    assert GenericDialect(product(name)).read(column) == text


# --- types ---


@pytest.mark.parametrize(
    ("dialect", "code", "type_name", "digits", "kind"),
    [
        (UNKNOWN, -6, "TINYINT", None, Kind.INTEGER),
        (UNKNOWN, -5, "BIGINT", None, Kind.INTEGER),
        (UNKNOWN, -5, "BIGINT UNSIGNED", None, Kind.NUMBER),
        (DUCKDB, -5, "UINTEGER", None, Kind.INTEGER),
        (DUCKDB, 1111, "HUGEINT", None, Kind.NUMBER),
        (DUCKDB, 6, "FLOAT", None, Kind.REAL),
        (UNKNOWN, 6, "FLOAT", None, Kind.OTHER),
        (UNKNOWN, 7, "REAL", None, Kind.REAL),
        (UNKNOWN, -7, "BIT", None, Kind.BOOLEAN),
        (DUCKDB, -7, "BIT", None, Kind.OWN_TEXT),
        (UNKNOWN, 2005, "CLOB", None, Kind.TEXT),
        (UNKNOWN, 2004, "BLOB", None, Kind.BYTES),
        (H2, -2, "UUID", 0, Kind.UUID),
        (H2, 2003, "UUID ARRAY", 0, Kind.OWN_TEXT),
        (H2, 2003, "CHARACTER VARYING(9) ARRAY", 0, Kind.OTHER),
        (H2, 1111, 'ROW("A" INTEGER, "B" CHARACTER VARYING(9))', 0, Kind.OTHER),
        (H2, 1111, 'ROW("A" INTEGER, "B" INTEGER)', 0, Kind.OWN_TEXT),
        (DUCKDB, 1111, "UNION(a INTEGER, b VARCHAR)", None, Kind.OTHER),
        (DUCKDB, 1111, "STRUCT(u UNION(a INTEGER, b VARCHAR)[])", None, Kind.OTHER),
        (DUCKDB, 1111, "VARCHAR[]", None, Kind.OWN_TEXT),
        (GenericDialect(product("sqlserver")), -156, "sql_variant", None, Kind.OTHER),
        (DUCKDB, 1111, "UUID[]", None, Kind.OWN_TEXT),
        (DUCKDB, 1111, "ENUM('a', 'b')", None, Kind.OWN_TEXT),
        (UNKNOWN, 92, "TIME", None, Kind.OWN_TEXT),
        (UNKNOWN, 93, "TIMESTAMP", 6, Kind.TIMESTAMP),
        (UNKNOWN, 93, "TIMESTAMP", 9, Kind.OWN_TEXT),
        (H2, 93, "TIMESTAMP", 9, Kind.TIMESTAMP),
        (UNKNOWN, 2014, "TIMESTAMP WITH TIME ZONE", 6, Kind.OWN_TEXT),
        (H2, 2014, "TIMESTAMP WITH TIME ZONE", 6, Kind.TIMESTAMPTZ),
        (UNKNOWN, 2, "NUMERIC", None, Kind.NUMBER),
        (H2, 2, "DECFLOAT", 0, Kind.NUMBER),
        (UNKNOWN, 1111, "SOMETHING", None, Kind.OWN_TEXT),
        (GenericDialect(product("tibero")), 91, "DATE", None, Kind.TIMESTAMP),
    ],
)
def test_type_that_a_driver_reports_becomes_its_kind(
    dialect: GenericDialect, code: int, type_name: str, digits: int | None, kind: Kind
) -> None:
    column = dialect.describe_column(Reported("c", code, type_name, None, digits))

    assert column.kind is kind
    assert (column.why != "") == (kind is Kind.OTHER)


@pytest.mark.parametrize(
    ("size", "digits", "kind"),
    [(38, 10, Kind.DECIMAL), (39, 0, Kind.NUMBER), (5, 6, Kind.NUMBER), (0, 0, Kind.NUMBER)],
)
def test_decimal_is_typed_only_where_a_lake_decimal_holds_every_digit(size: int, digits: int, kind: Kind) -> None:
    column = UNKNOWN.describe_column(Reported("c", 3, "DECIMAL", size, digits))

    assert (column.kind, column.precision, column.scale) == (
        (kind, size, digits) if kind is Kind.DECIMAL else (kind, None, None)
    )


# --- expressions ---


@pytest.mark.parametrize(
    ("type_name", "is_xml"), [("XML", True), ("SYS.XMLTYPE", True), ("xml", True), ("ENUM('XML', 'JSON')", False)]
)
def test_xml_is_known_by_its_types_name_and_by_no_label(type_name: str, is_xml: bool) -> None:  # noqa: FBT001
    column = UNKNOWN.describe_column(Reported("c", 1111, type_name))

    assert UNKNOWN.read(column).startswith("xmlserialize(") is is_xml


def test_names_are_quoted_by_doubling_and_nul_is_refused() -> None:
    assert UNKNOWN.quote('a"b') == '"a""b"'
    with pytest.raises(ValueError, match="NUL"):
        UNKNOWN.quote("a\0b")


@pytest.mark.parametrize(
    ("dialect", "column", "literal"),
    [
        (H2, AT, "timestamp '1970-01-01 00:00:01.000001'"),
        (DERBY, AT, "timestamp('1970-01-01 00:00:01.000001')"),
        (DERBY, DAY, "date('1970-01-01')"),
        (H2, ZONED, "timestamp with time zone '1970-01-01 00:00:01.000001+00:00'"),
        (UNKNOWN, ZONED, "timestamp '1970-01-01 00:00:01.000001+00:00'"),
    ],
)
def test_watermark_is_spelled_as_the_product_reads_it(dialect: GenericDialect, column: Column, literal: str) -> None:
    assert dialect.literal(column, 1_000_001) == literal


def test_what_jdbc_cannot_hand_over_typed_is_read_as_the_databases_own_text() -> None:
    number = DERBY.describe_column(Reported("n", 3, "DECIMAL", 40, 2))
    xml = DERBY.describe_column(Reported("x", 2009, "XML"))
    key = Column("k", Kind.OWN_TEXT, "VARBINARY(8)", native="bytes")

    assert DERBY.read(number) == 'trim(cast("n" as char(40)))'
    assert DERBY.read(xml) == 'xmlserialize("x" as clob)'
    assert H2.read(key) == 'lower(rawtohex("k"))'
    assert H2.read(ZONED) == "cast(\"zoned\" at time zone 'UTC' as timestamp)"
    assert H2.read(DAY) == 'cast("day" as varchar)'
    assert DUCKDB.read(ZONED) == "cast(\"zoned\" at time zone 'UTC' as varchar)"
    assert UNKNOWN.read(DAY) == '"day"'
    assert UNKNOWN.read(Column("t", Kind.TEXT, "VARCHAR")) == '"t"'


def test_values_that_the_way_through_jdbc_alters_are_tested_for_and_never_cut_in_silence() -> None:
    nanos = H2.describe_column(Reported("at", 93, "TIMESTAMP", 29, 9))
    unknown = UNKNOWN.describe_column(Reported("x", 1111, "SOMETHING"))

    assert 'cast("at" as timestamp(6))' in (H2.find_altered(nanos) or "")
    assert 'cast("at" as timestamp(6))' not in (H2.find_altered(AT) or "")
    assert "date '1582-10-15'" in (UNKNOWN.find_altered(DAY) or "")
    assert UNKNOWN.find_altered(unknown) == 'char_length(cast("x" as varchar(4000))) >= 4000'
    assert UNKNOWN.find_altered(Column("i", Kind.INTEGER, "INTEGER")) is None
    assert DERBY.find_altered(DAY) is None


def test_every_known_product_names_its_driver_and_unknown_ones_ask_for_it() -> None:
    assert all(item.driver for item in PRODUCTS.values())
    assert {name for name, item in PRODUCTS.items() if item.proven} == {"h2", "derby", "duckdb"}
    assert product("foo").driver is None
    assert len(product("foo").clocks) > 1


# --- ranges ---


edges = st.lists(st.integers(-(10**6), 10**6), min_size=0, max_size=40, unique=True).map(sorted)


@given(edges, st.integers(2, 12), st.tuples(st.booleans(), st.booleans(), st.booleans()))
def test_joined_ranges_are_few_and_hold_every_key_of_the_ranges(
    cuts: list[int], most: int, flags: tuple[bool, bool, bool]
) -> None:
    opens, closes, nulls = flags
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    ranges = [KeyRange(low, high) for low, high in pairs]
    if ranges and opens:
        ranges[0] = KeyRange(None, ranges[0].high)
    if ranges and closes:
        ranges[-1] = KeyRange(ranges[-1].low, None)
    if nulls:
        ranges.append(KeyRange(None, None, nulls=True, keys=False))

    found = merge_ranges(tuple(ranges), most)

    assert len(found) <= max(most, int(nulls))
    assert [one for one in found if not one.keys] == [one for one in ranges if not one.keys]
    for one in (one for one in ranges if one.keys):
        assert sum(_holds(wide, one) for wide in found if wide.keys) == 1


def _holds(wide: KeyRange, one: KeyRange) -> bool:
    low = wide.low is None or (one.low is not None and wide.low <= one.low)
    return low and (wide.high is None or (one.high is not None and one.high <= wide.high))


def test_ranges_query_reads_each_range_and_keeps_the_predicates() -> None:
    ranges = (KeyRange(None, 5), KeyRange(10, 20), KeyRange(None, None, nulls=True, keys=False))

    sql = UNKNOWN.ranges_query('"a" as c0', '"t"', "k", ranges, ("x > 1",))

    assert sql == (
        'select "a" as c0 from "t" where (x > 1) and (("k" < 5) or ("k" >= 10 and "k" < 20) or ("k" is null))'
    )


def test_text_beyond_ascii_is_asked_for_with_all_its_characters_where_a_plain_literal_would_lose_them() -> None:
    column = Column("code", Kind.TEXT, "nvarchar")

    asked = [keys_predicate(GenericDialect(product(name)), (column,), [(text,)]) for name, text in (
        ("sqlserver", "Жук"), ("sqlserver", "beetle"), ("oracle", "Жук"),
    )]  # fmt: skip

    assert [sql is not None and "N'Жук'" in sql for sql in asked] == [True, False, False]
    assert [sql is not None and ("'Жук'" in sql or "'beetle'" in sql) for sql in asked] == [True, True, True]
