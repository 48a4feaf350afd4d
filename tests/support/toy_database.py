"""A toy database for the guide: a relative of PostgreSQL with its own quotes and its own way to take the first rows."""

from __future__ import annotations

from collections.abc import Mapping

FOLDER = "toy"
FILES: Mapping[str, str] = {
    "__init__.py": '''"""Toy, as `databases/registry.py` knows it."""

from hudi_reconcile.databases.registry import KnownDatabase
from hudi_reconcile.sql.connection_properties import COUNT, LABEL, TLS_KEYS, Driver


def _open(connection):
    from hudi_reconcile.databases.toy.engine import ToyEngine

    return ToyEngine(connection)


DATABASE = KnownDatabase(
    dialect="toy",
    schemes=("toy", "toydb"),
    example="toy+psycopg://user@host:26257/database",
    port=26257,
    parameters=frozenset({"sslmode", "sslrootcert"}),
    driver=Driver(title="Toy", classes=("org.toy.Driver",), keys={"ToyName": LABEL, "toyTimeout": COUNT},
                  own=frozenset({"user", "toypath"}) | TLS_KEYS),
    open_engine=_open,
    why_not_jdbc="Toy is read with its own engine",
    sql="postgresql",
    namespace="toy",
)
''',
    "dialect.py": '''"""Toy's SQL: PostgreSQL's, with its own quotes and its own way to take the first rows."""

from hudi_reconcile.databases.postgres.dialect import (
    bytes_literal, exact, hash_predicate, literal, ranges_query, says, text, find_altered,
)

NAME = "toy"
RANGES_AT_ONCE = 64


def quote(name):
    return "[" + name.replace("]", "]]") + "]"


def read(column):
    return quote(column.name)


def limit_rows(select, rows):
    return f"{select} fetch first {rows} rows only"
''',
    "digests.py": '''"""Toy digests its own rows as PostgreSQL does."""

from hudi_reconcile.databases.postgres.digests import (
    write_null_test, filler, divide_down, join_texts, md5_number, octets, remainder, keep_apart, version_facts, version_number,
)
from hudi_reconcile.databases.toy import dialect

DIALECT = dialect


def canonical(item):
    return f"toy_text({dialect.quote(item.column.name)})"
''',
    "session.py": '''"""Toy's sessions: their settings by a start-up option, and the proof that Spark's have them."""

OPTIONS = "-c toy_read_only=on"
PROOF = "(select toy_setting('toy_read_only') = 'on')"
''',
    "engine.py": '''"""Toy as an engine: PostgreSQL's control connection, and its own way for Spark."""

from hudi_reconcile.databases.base import JdbcTarget
from hudi_reconcile.databases.postgres.engine import PostgresEngine
from hudi_reconcile.databases.registry import known_drivers
from hudi_reconcile.databases.toy import dialect, digests, session
from hudi_reconcile.sql.connection_properties import merge_properties


class ToyEngine(PostgresEngine):
    @property
    def dialect(self):
        return dialect

    @property
    def digests(self):
        return digests

    def jdbc(self):
        found = self.connection
        ours = {"driver": "org.toy.Driver", "user": found.user, "toyPath": session.OPTIONS, **found.transport.parameters}
        url = f"jdbc:toy://{found.host}:{found.port}/{found.database}"
        return JdbcTarget(url, merge_properties(known_drivers()[dialect.NAME], {}, found.jdbc_options, ours), proof=session.PROOF)
''',
    "jars.lock": f"org.toy:toy-jdbc:1.0    toy-jdbc-1.0.jar    {'0f' * 32}\n",
}
