"""What differs between databases that are read through `jdbc:`: driver, literals, clock, casts, own type names. Pure values.

H2, Derby and DuckDB were run against these entries; the others are written by their vendors' documentation (`proven` False).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from hudi_reconcile.core.tables.kinds import Kind

# Drivers may count days before it by the Julian calendar, as java.sql.Date does.
GREGORIAN: Final = "1582-10-15"
FIRST: Final = "0001-01-01"
_TEXT = Kind.OWN_TEXT
_DUCKDB_KINDS = {
    "FLOAT": Kind.REAL, "HUGEINT": Kind.NUMBER, "UHUGEINT": Kind.NUMBER, "UBIGINT": Kind.NUMBER,
    "VARINT": Kind.NUMBER, "BIGNUM": Kind.NUMBER, "UUID": Kind.UUID, "BIT": _TEXT, "INTERVAL": _TEXT, "JSON": _TEXT,
    "ENUM": _TEXT, "STRUCT": _TEXT, "MAP": _TEXT, "UNION": _TEXT, "TIMESTAMP_NS": Kind.TIMESTAMP,
    "TIMESTAMP_MS": Kind.TIMESTAMP, "TIMESTAMP_S": Kind.TIMESTAMP,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One product. Templates hold `{c}`, a quoted column; None where the product has no such form or we know none.

    `text_chars` is where `text` may cut a value. `number_text` is for products that cannot cast numbers to varchar.
    `utc` turns a timestamp with zone into UTC's wall clock. `finer` is true where a timestamp has digits below microseconds.
    Kinds in `by_text` reach Spark as ISO text, since the driver alters some of their values. Days before `first_day` and after
    9999 are not carried as such; None: the database has no such days.
    `clocks` are tried in order until one answers with one value `hr_now`; `utc_clock`: it is UTC even without a zone.
    """

    name: str
    title: str
    driver: str | None = None
    proven: bool = False
    quote: str = '"'
    properties: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    digits: Mapping[str, int] = field(default_factory=dict)
    clocks: tuple[str, ...] = ("select current_timestamp as hr_now",)
    utc_clock: bool = False
    date_literal: str = "date '{v}'"
    timestamp_literal: str = "timestamp '{v}'"
    zoned_literal: str = "timestamp '{v}+00:00'"
    text: str = "cast({c} as varchar(4000))"
    text_chars: int | None = 4000
    number_text: str | None = None
    hex: str | None = None
    exact: str = "{c}"
    utc: str | None = None
    finer: str | None = None
    plain_time: str = "{c}"
    by_text: frozenset[Kind] = frozenset()
    first_day: str | None = GREGORIAN
    limit: str = "{select}"


_H2 = Product(
    name="h2",
    title="H2",
    driver="org.h2.Driver",
    proven=True,
    properties={"IFEXISTS": "TRUE"},  # a mistyped path would make a new, empty database
    kinds={"UUID": Kind.UUID, "DECFLOAT": Kind.NUMBER, "JSON": _TEXT, "ENUM": _TEXT, "GEOMETRY": _TEXT, "ROW": _TEXT,
           "INTERVAL": _TEXT},
    zoned_literal="timestamp with time zone '{v}+00:00'",
    text="cast({c} as varchar)",
    text_chars=None,
    hex="lower(rawtohex({c}))",
    utc="cast({c} at time zone 'UTC' as timestamp)",
    finer="{c} <> cast({c} as timestamp(6))",
    by_text=frozenset({Kind.DATE}),  # java.sql.Date counts by the Julian calendar: 0001-01-01 would arrive as 0001-01-03
    first_day=FIRST,
    limit="{select} fetch first {rows} rows only",
)  # fmt: skip

_DERBY = Product(
    name="derby",
    title="Apache Derby",
    driver="org.apache.derby.jdbc.EmbeddedDriver",
    proven=True,
    clocks=("values current_timestamp",),
    utc_clock=True,  # it is this process's clock, which runs in UTC
    date_literal="date('{v}')",
    timestamp_literal="timestamp('{v}')",
    text_chars=None,
    number_text="trim(cast({c} as char(40)))",
    finer="length(cast({c} as varchar(40))) > 26",
    first_day=None,  # Derby itself counts by the same calendar, from year 1 to 9999
    limit="{select} fetch first {rows} rows only",
)

_DUCKDB = Product(
    name="duckdb",
    title="DuckDB",
    driver="org.duckdb.DuckDBDriver",
    proven=True,
    properties={"duckdb.read_only": "true"},
    kinds=_DUCKDB_KINDS,
    digits={"TIMESTAMP_NS": 9},
    zoned_literal="timestamptz '{v}+00:00'",
    text="cast({c} as varchar)",
    text_chars=None,
    hex="lower(hex({c}))",
    utc="{c} at time zone 'UTC'",
    finer="epoch_ns({c}) % 1000 <> 0",
    plain_time="cast({c} as timestamp)",
    # The driver shows 1800-01-01 00:00:00.000001 one second later, and moves days of October 1582 by ten.
    by_text=frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ}),
    first_day=FIRST,
    limit="{select} limit {rows}",
)

_HANA = Product(
    name="sap",
    title="SAP HANA",
    driver="com.sap.db.jdbc.Driver",
    kinds={"SMALLDECIMAL": Kind.NUMBER},
    clocks=("select current_utctimestamp as hr_now from dummy",),
    utc_clock=True,
    text="to_nvarchar({c})",
    hex="lower(bintohex({c}))",
    finer="to_varchar({c}, 'FF7') not like '%0'",
    limit="{select} limit {rows}",
)

_TIBERO = Product(
    name="tibero",
    title="Tibero",
    driver="com.tmax.tibero.jdbc.TbDriver",
    kinds={"DATE": Kind.TIMESTAMP},
    clocks=("select sys_extract_utc(systimestamp) as hr_now from dual",),
    utc_clock=True,
    text="to_char({c})",
    hex="lower(rawtohex({c}))",
    utc="sys_extract_utc({c})",
    finer="{c} <> cast({c} as timestamp(6))",
    limit="select * from ({select}) where rownum <= {rows}",
)

_TERADATA = Product(
    name="teradata",
    title="Teradata",
    driver="com.teradata.jdbc.TeraDriver",
    clocks=("select current_timestamp(6) as hr_now",),
    exact="{c} (casespecific)",
    hex="from_bytes({c}, 'base16')",
)

_DB2 = Product(
    name="db2",
    title="IBM Db2",
    driver="com.ibm.db2.jcc.DB2Driver",
    kinds={"DECFLOAT": Kind.NUMBER},
    clocks=("select current timestamp - current timezone as hr_now from sysibm.sysdummy1",),
    utc_clock=True,
    hex="lower(hex({c}))",
    finer="{c} <> cast({c} as timestamp(6))",
    limit="{select} fetch first {rows} rows only",
)

PRODUCTS: Final = {product.name: product for product in (_H2, _DERBY, _DUCKDB, _HANA, _TIBERO, _TERADATA, _DB2)}
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
