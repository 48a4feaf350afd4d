"""What differs between databases that are read through `jdbc:`: driver, literals, clock, casts, own type names. Pure values.

H2, Derby and DuckDB were run against these entries; the others are written by their vendors' documentation (`proven` False).
docs/jdbc.md says which of those are at least parsed by a grammar that is not ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from hudi_reconcile.core.tables.canonical_text import BUCKET_HEX_DIGITS
from hudi_reconcile.core.tables.kinds import Kind

# Drivers may count days before it by the Julian calendar, as java.sql.Date does.
GREGORIAN: Final = "1582-10-15"
FIRST: Final = "0001-01-01"
RANKED: Final = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.TEXT, Kind.CHAR})
FETCH_FIRST, LIMIT = "{select} fetch first {rows} rows only", "{select} limit {rows}"
TOP, TOP_OF = "select top {rows} {rest}", "select top ({rows}) {rest}"
ROWNUM = "select * from ({select}) where rownum <= {rows}"
# Of a product that no test has run: the first that it understands, its own before these.
ANY_LIMIT: Final = (FETCH_FIRST, LIMIT, TOP, ROWNUM)
_TEXT = Kind.OWN_TEXT
_BUCKET_TEXTS: Final[Mapping[Kind, str]] = {
    Kind.TEXT: "{c}",
    **dict.fromkeys((Kind.INTEGER, Kind.DECIMAL), "cast({c} as varchar)"),
    Kind.UUID: "lower(cast({c} as varchar))",
}
_DUCKDB_KINDS = {
    "FLOAT": Kind.REAL, "HUGEINT": Kind.NUMBER, "UHUGEINT": Kind.NUMBER, "UBIGINT": Kind.NUMBER,
    "VARINT": Kind.NUMBER, "BIGNUM": Kind.NUMBER, "UUID": Kind.UUID, "BIT": _TEXT, "INTERVAL": _TEXT, "JSON": _TEXT,
    "ENUM": _TEXT, "STRUCT": _TEXT, "MAP": _TEXT, "UNION": _TEXT, "TIMESTAMP_NS": Kind.TIMESTAMP,
    "TIMESTAMP_MS": Kind.TIMESTAMP, "TIMESTAMP_S": Kind.TIMESTAMP,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Literals:
    """How values are written; `{v}` is one. `own` are by type name, where a type takes another form than its kind does.

    `unicode` stands before a text beyond ASCII, where one without it would be cut down to the database's own character set.
    """

    date: str = "date '{v}'"
    timestamp: str = "timestamp '{v}'"
    zoned: str = "timestamp '{v}+00:00'"
    unicode: str = ""
    own: Mapping[str, str] = field(default_factory=dict)

    def mark_text(self, quoted: str) -> str:
        """A text in quotes so that this product takes all of its characters."""
        return quoted if quoted.isascii() else f"{self.unicode}{quoted}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """How values become text; `{c}` is a quoted column. None where the product has no such form or we know none.

    `most_chars` is where `plain` may cut a value, `length` counts them. `number` is for products that cannot cast numbers to
    varchar. `calendar` is for dates and times, by their kind, where `plain` writes them as the session's place would, with two
    digits of a year or without seconds. `ambiguous` tells the types, by what the driver calls them, of which different values
    have the same text.
    """

    plain: str = "cast({c} as varchar(4000))"
    most_chars: int | None = 4000
    length: str = "char_length({c})"
    number: str | None = None
    hex: str | None = None
    calendar: Mapping[Kind, str] = field(default_factory=dict)
    xml: str = "xmlserialize({c} as clob)"
    ambiguous: str | None = None


def _write_calendar(form: str) -> Mapping[Kind, str]:
    """One form for dates and times, with and without zone."""
    return dict.fromkeys((Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ), form)


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketSql:
    """How the md5 bucket of a key is computed.

    `texts` is the canonical text of a column `{c}` by its kind. `octets` is the length of a text `{t}` in UTF-8, itself as text,
    and `md5` the first hex digits of its md5 as a number.
    """

    texts: Mapping[Kind, str]
    octets: str
    md5: str
    hex_digits: int = BUCKET_HEX_DIGITS


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySql:
    """How keys are cut into parts.

    `hash` of a column `{c}` is a whole number from 0 to 2^32, NULL of NULL; None where there is none. `modulo` is of `{a}` and
    `{b}`. `rank` numbers the rows of `{source}` in the order of `{order}` as `hr_rank`, beside `{shown}`. `kinds` are those of
    key columns that are cut by rank: their literals are known, and Spark's reader can name them. `buckets`: None where the
    product has no md5, or was never run.
    """

    hash: str | None = None
    modulo: str = "mod({a}, {b})"
    rank: str = "select {shown}, row_number() over (order by {order}) as hr_rank from {source}"
    kinds: frozenset[Kind] = RANKED
    buckets: BucketSql | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One product. Templates hold `{c}`, a quoted column; None where the product has no such form or we know none.

    `kinds` are by the type's own name, `codes` by a driver's own type code beside those of java.sql.Types.
    `utc` turns a timestamp with zone into UTC's wall clock. `finer` is true where a timestamp has digits below microseconds.
    Kinds in `by_text` reach Spark as ISO text, since the driver alters some of their values. Days before `first_day` and after
    9999 are not carried as such; None: the database has no such days.
    `clocks` are tried in order until one answers with one value `hr_now`; `utc_clock`: it is UTC even without a zone.
    `limit` gives at most `{rows}` rows of `{select}`, of which `{rest}` is what stands after its first word. Of a
    product that no test has run it is the first of the forms that are tried out.
    """

    name: str
    title: str
    driver: str | None = None
    proven: bool = False
    quote: str = '"'
    properties: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    codes: Mapping[int, Kind] = field(default_factory=dict)
    digits: Mapping[str, int] = field(default_factory=dict)
    clocks: tuple[str, ...] = ("select current_timestamp as hr_now",)
    utc_clock: bool = False
    literals: Literals = Literals()
    texts: Texts = Texts()
    keys: KeySql = KeySql()
    exact: str = "{c}"
    utc: str | None = None
    finer: str | None = None
    plain_time: str = "{c}"
    by_text: frozenset[Kind] = frozenset()
    first_day: str | None = GREGORIAN
    limit: str | None = None


_H2 = Product(
    name="h2",
    title="H2",
    driver="org.h2.Driver",
    proven=True,
    properties={"IFEXISTS": "TRUE"},  # a mistyped path would make a new, empty database
    kinds={"UUID": Kind.UUID, "DECFLOAT": Kind.NUMBER, "JSON": _TEXT, "ENUM": _TEXT, "GEOMETRY": _TEXT, "ROW": _TEXT,
           "INTERVAL": _TEXT},
    utc="cast({c} at time zone 'UTC' as timestamp)",
    finer="{c} <> cast({c} as timestamp(6))",
    by_text=frozenset({Kind.DATE}),  # java.sql.Date counts by the Julian calendar: 0001-01-01 would arrive as 0001-01-03
    first_day=FIRST,
    limit=FETCH_FIRST,
    literals=Literals(zoned="timestamp with time zone '{v}+00:00'"),
    texts=Texts(
        plain="cast({c} as varchar)",
        most_chars=None,
        hex="lower(rawtohex({c}))",
        ambiguous=r"(?=.*(CHAR|LOB|ENUM|JSON))(ROW\b|.*ARRAY)",  # array['a, b'] and array['a', 'b'] are both [a, b]
    ),
    keys=KeySql(
        hash="ora_hash({c}, 4294967295)",
        buckets=BucketSql(
            texts={
                **_BUCKET_TEXTS,
                Kind.CHAR: "trim(trailing ' ' from {c})",
                Kind.BYTES: "lower(rawtohex({c}))",
                Kind.DATE: "cast(datediff('DAY', date '1970-01-01', {c}) as varchar)",
            },
            octets="cast(octet_length(stringtoutf8({t})) as varchar)",
            # Eight bytes are a bigint, and the first four keep it from being negative.
            md5="cast(X'00000000' || substring(hash('MD5', stringtoutf8({t})) from 1 for 4) as bigint)",
        ),
    ),
)  # fmt: skip

_DERBY = Product(
    name="derby",
    title="Apache Derby",
    driver="org.apache.derby.jdbc.EmbeddedDriver",
    proven=True,
    clocks=("values current_timestamp",),
    utc_clock=True,  # it is this process's clock, which runs in UTC
    finer="length(cast({c} as varchar(40))) > 26",
    first_day=None,  # Derby itself counts by the same calendar, from year 1 to 9999
    limit=FETCH_FIRST,
    literals=Literals(date="date('{v}')", timestamp="timestamp('{v}')"),
    texts=Texts(most_chars=None, number="trim(cast({c} as char(40)))"),
    keys=KeySql(
        rank="select {shown}, row_number() over () as hr_rank from (select * from {source} order by {order}) hr_o"
    ),
)

_DUCKDB = Product(
    name="duckdb",
    title="DuckDB",
    driver="org.duckdb.DuckDBDriver",
    proven=True,
    properties={"duckdb.read_only": "true"},
    kinds=_DUCKDB_KINDS,
    digits={"TIMESTAMP_NS": 9},
    utc="{c} at time zone 'UTC'",
    finer="epoch_ns({c}) % 1000 <> 0",
    plain_time="cast({c} as timestamp)",
    # The driver shows 1800-01-01 00:00:00.000001 one second later, and moves days of October 1582 by ten.
    by_text=frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ}),
    first_day=FIRST,
    limit=LIMIT,
    literals=Literals(zoned="timestamptz '{v}+00:00'"),
    texts=Texts(
        plain="cast({c} as varchar)",
        most_chars=None,
        hex="lower(hex({c}))",
        ambiguous=r".*\bUNION\(",  # it does not say of which member it is
    ),
    keys=KeySql(
        hash="hash({c}) % 4294967296",
        buckets=BucketSql(
            texts={
                **_BUCKET_TEXTS,
                Kind.BYTES: "lower(hex({c}))",
                Kind.DATE: "cast(datediff('day', date '1970-01-01', {c}) as varchar)",
            },
            octets="cast(strlen({t}) as varchar)",
            md5="cast('0x' || left(md5({t}), 8) as bigint)",
        ),
    ),
)

_HANA = Product(
    name="sap",
    title="SAP HANA",
    driver="com.sap.db.jdbc.Driver",
    kinds={"SMALLDECIMAL": Kind.NUMBER},
    clocks=("select current_utctimestamp as hr_now from dummy",),
    utc_clock=True,
    finer="to_varchar({c}, 'FF7') not like '%0'",
    limit=LIMIT,
    texts=Texts(plain="to_nvarchar({c})", hex="lower(bintohex({c}))", length="length({c})"),
)

_ORACLE = Product(
    name="oracle",
    title="Oracle",
    driver="oracle.jdbc.OracleDriver",
    kinds={"DATE": Kind.TIMESTAMP, "UROWID": _TEXT, "ROWID": _TEXT},
    codes={-101: Kind.TIMESTAMPTZ, -102: Kind.TIMESTAMPTZ, 100: Kind.REAL, 101: Kind.DOUBLE},
    clocks=("select sys_extract_utc(systimestamp) as hr_now from dual",),
    utc_clock=True,
    utc="sys_extract_utc({c})",
    finer="{c} <> cast({c} as timestamp(6))",
    limit=ROWNUM,  # every version has it; FETCH FIRST came with 12.1
    texts=Texts(
        plain="to_char({c})",
        length="length({c})",
        xml="xmlserialize(content {c} as clob)",
        number="to_char({c}, 'TM9', 'nls_numeric_characters=''.,''')",
        hex="lower(rawtohex({c}))",
        calendar=_write_calendar(
            "to_char(cast({c} as timestamp(9)), 'SYYYY-MM-DD\"T\"HH24:MI:SS.FF9', 'nls_calendar=gregorian')"
        ),
    ),
    keys=KeySql(hash="ora_hash({c}, 4294967295)", kinds=RANKED | {Kind.NUMBER}),
)

_TIBERO = Product(
    name="tibero",
    title="Tibero",
    driver="com.tmax.tibero.jdbc.TbDriver",
    kinds={"DATE": Kind.TIMESTAMP},
    clocks=("select sys_extract_utc(systimestamp) as hr_now from dual",),
    utc_clock=True,
    utc="sys_extract_utc({c})",
    finer="{c} <> cast({c} as timestamp(6))",
    limit=ROWNUM,
    texts=Texts(
        plain="to_char({c})",
        length="length({c})",
        hex="lower(rawtohex({c}))",
        calendar=_write_calendar("to_char(cast({c} as timestamp(9)), 'SYYYY-MM-DD\"T\"HH24:MI:SS.FF9')"),
    ),
    keys=KeySql(kinds=RANKED | {Kind.NUMBER}),
)

_TERADATA = Product(
    name="teradata",
    title="Teradata",
    driver="com.teradata.jdbc.TeraDriver",
    clocks=("select current_timestamp(6) as hr_now",),
    exact="{c} (casespecific)",
    limit=TOP,
    texts=Texts(hex="from_bytes({c}, 'base16')", calendar={Kind.DATE: "to_char({c}, 'YYYY-MM-DD')"}),
    keys=KeySql(hash="cast(hashbucket(hashrow({c})) as bigint)", modulo="({a} mod {b})"),
)

_DB2 = Product(
    name="db2",
    title="IBM Db2",
    driver="com.ibm.db2.jcc.DB2Driver",
    kinds={"DECFLOAT": Kind.NUMBER},
    clocks=("select current timestamp - current timezone as hr_now from sysibm.sysdummy1",),
    utc_clock=True,
    finer="{c} <> cast({c} as timestamp(6))",
    limit=FETCH_FIRST,
    texts=Texts(length="length({c})", hex="lower(hex({c}))", calendar={Kind.DATE: "varchar_format({c}, 'YYYY-MM-DD')"}),
)

# T-SQL has no `date '…'`: values are cast, and a `datetime` is met as one, since its thirds of a hundredth are no datetime2's.
_SQLSERVER = Product(
    name="sqlserver",
    title="SQL Server",
    driver="com.microsoft.sqlserver.jdbc.SQLServerDriver",
    kinds={"XML": _TEXT, "SQL_VARIANT": _TEXT, "GEOGRAPHY": _TEXT, "GEOMETRY": _TEXT, "HIERARCHYID": _TEXT},
    codes={-155: Kind.TIMESTAMPTZ},
    clocks=("select sysutcdatetime() as hr_now",),
    utc_clock=True,
    exact="{c} collate Latin1_General_BIN2",
    utc="cast(switchoffset({c}, '+00:00') as datetime2)",
    finer="datepart(nanosecond, {c}) % 1000 <> 0",
    limit=TOP_OF,
    literals=Literals(
        date="cast('{v}' as date)",
        timestamp="cast('{v}' as datetime2)",
        zoned="cast('{v}+00:00' as datetimeoffset)",
        unicode="N",
        own={"DATETIME": "convert(datetime, '{v:.23}', 121)", "SMALLDATETIME": "convert(datetime, '{v:.23}', 121)"},
    ),
    texts=Texts(
        plain="cast({c} as nvarchar(max))",
        most_chars=None,
        xml="cast({c} as nvarchar(max))",
        ambiguous="SQL_VARIANT$",  # neither the type nor all digits of money and datetime
        number="convert(nvarchar(60), {c}, 2)",  # money with all four digits; a style means nothing to other exact numbers
        hex="lower(convert(varchar(max), {c}, 2))",
        calendar=_write_calendar("convert(nvarchar(40), {c}, 126)"),
    ),
    keys=KeySql(
        hash="cast(substring(hashbytes('MD5', cast({c} as nvarchar(4000))), 1, 4) as bigint)", modulo="({a}) % {b}"
    ),
)

PRODUCTS: Final = {
    product.name: product for product in (_H2, _DERBY, _DUCKDB, _HANA, _TIBERO, _TERADATA, _DB2, _ORACLE, _SQLSERVER)
}
_ANY_CLOCK = (
    "select current_timestamp as hr_now",
    "values current_timestamp",
    "select current_timestamp as hr_now from dual",
    "select current_timestamp as hr_now from dummy",
    "select current_timestamp as hr_now from sysibm.sysdummy1",
)


def product(name: str) -> Product:
    """The entry of that `jdbc:` word; for any other, what SQL-92 promises."""
    return PRODUCTS.get(name) or Product(name=name, title=f"jdbc:{name}", clocks=_ANY_CLOCK)
