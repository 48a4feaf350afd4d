from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.source.jdbc import Cell, DriverFacts, DriverIndex, JdbcLogin, Relation, Reported
from hudi_reconcile.databases.base import TableRequest
from hudi_reconcile.databases.jdbc.engine import JdbcEngine, JdbcSource

SECOND = 1_000_000
ORDERS = Relation(None, "APP", "ORDERS", "TABLE")


@dataclass(slots=True)
class OneTable:
    """A database of one table, in memory; `clocks` are the statements that it understands."""

    columns_: list[Reported]
    key: tuple[str, ...] = ()
    indexes_: list[DriverIndex] = field(default_factory=list)
    clocks: dict[str, tuple[int, bool]] = field(default_factory=dict)
    limit: str = ""
    limited: int = 1
    rows_: int = 7
    refuses: str = "\0"
    closed: int = 0
    cancelled: int = 0

    def facts(self) -> DriverFacts:
        return DriverFacts(product="X", version="1", user="u", folds="upper", catalog=None, schema="APP")

    def rows(self, sql: str) -> list[dict[str, Cell]]:
        if self.refuses in sql:
            raise SourceError("syntax", fix="none")
        if "hr_at" in sql:
            if self.limit and self.limit in sql:
                return [{"hr_rows": min(self.limited, self.rows_)}]
            raise SourceError("syntax", fix="none")
        assert sql.startswith('select count(*) as hr_rows from "APP"."ORDERS"')
        return [{"hr_rows": self.rows_}]

    def clock(self, sql: str) -> tuple[int, bool]:
        if sql not in self.clocks:
            raise SourceError("syntax", fix="none")
        return self.clocks[sql]

    def relations(self, catalog: str | None, schema: str | None, name: str | None) -> list[Relation]:
        assert catalog is None
        return [ORDERS] if schema in (None, "APP") and name in (None, "ORDERS") else []

    def columns(self, table: Relation) -> list[Reported]:
        assert table == ORDERS
        return self.columns_

    def primary_key(self, table: Relation) -> tuple[str, ...]:
        assert table == ORDERS
        return self.key

    def indexes(self, table: Relation) -> list[DriverIndex]:
        assert table == ORDERS
        return self.indexes_

    def cancel(self) -> None:
        self.cancelled += 1

    def close(self) -> None:
        self.closed += 1


def number(name: str, *, nullable: bool = False) -> Reported:
    return Reported(name, -5, "BIGINT", 64, 0, nullable)


def engine(database: OneTable, url: str = "jdbc:derby:/data/shop;user=u;password=geheim", **source: str) -> JdbcEngine:
    def connect(login: JdbcLogin) -> OneTable:
        assert login.url == url
        return database

    return JdbcEngine(JdbcSource(url=url, **source), connect)  # type: ignore[arg-type]


def test_described_table_has_the_primary_key_the_count_and_a_place_without_secrets() -> None:
    database = OneTable([number("ID"), number("N", nullable=True)], ("ID",))

    found = engine(database).describe(TableRequest(name="t", table="orders"))

    assert (found.table.name, found.table.key, found.table.rows_estimate) == ('"APP"."ORDERS"', ("ID",), 7)
    assert found.key_proven
    assert found.table.identity == 'jdbc:derby:/data/shop/"APP"."ORDERS"'


@pytest.mark.parametrize(
    ("index", "proven"),
    [
        (DriverIndex(("ID",), is_unique=True, is_partial=False), True),
        (DriverIndex(("ID",), is_unique=False, is_partial=False), False),
        (DriverIndex(("ID",), is_unique=True, is_partial=True), False),
        (DriverIndex(("N",), is_unique=True, is_partial=False), False),
    ],
)
def test_configured_key_is_proven_only_by_a_whole_unique_index_over_not_null_columns(
    index: DriverIndex, *, proven: bool
) -> None:
    database = OneTable([number("ID"), number("N", nullable=True)], (), [index])

    found = engine(database).describe(TableRequest(name="t", table="orders", key=("ID", "N")))

    assert found.key_proven is proven


BEHIND = DriverIndex(("ID",), is_unique=True, is_partial=False)


@pytest.mark.parametrize(
    ("url", "indexes", "proven"),
    [
        ("jdbc:h2:mem:x", [], True),
        ("jdbc:db2:x", [], False),
        ("jdbc:db2:x", [BEHIND], True),
        ("jdbc:db2:x", [replace(BEHIND, is_partial=True)], False),
        ("jdbc:db2:x", [replace(BEHIND, is_unique=False)], False),
        ("jdbc:db2:x", [replace(BEHIND, columns=("ID", "N"))], False),
    ],
)
def test_primary_key_of_a_product_that_was_never_run_is_proof_only_with_a_unique_index_behind_it(
    url: str, indexes: list[DriverIndex], *, proven: bool
) -> None:
    """Db2 has keys that are NOT ENFORCED, and lists them as any other."""
    database = OneTable([number("ID"), number("N")], ("ID",), indexes)
    driver = {} if url.startswith("jdbc:h2") else {"driver": "a.Driver"}

    found = engine(database, url, **driver).describe(TableRequest(name="t", table="orders"))

    assert (found.table.key, found.key_proven) == (("ID",), proven)


KEYS_OF_ONE = 'select "ID" as "hr_at" from "APP"."ORDERS" order by "hr_at"'
FORMS = {
    f"({KEYS_OF_ONE} fetch first 1 rows only)": "select a fetch first 5 rows only",
    f"({KEYS_OF_ONE} limit 1)": "select a limit 5",
    f"(select top 1 {KEYS_OF_ONE.removeprefix('select ')})": "select top 5 a",
    f"(select * from ({KEYS_OF_ONE}) where rownum <= 1)": "select * from (select a) where rownum <= 5",
    "none": "select a",
}


@pytest.mark.parametrize("understood", FORMS)
@pytest.mark.parametrize("product", ["foo", "sap", "teradata", "db2", "oracle", "sqlserver"])
def test_product_that_was_never_run_is_asked_how_it_limits_rows_whatever_its_documentation_says(
    understood: str, product: str
) -> None:
    database = OneTable([number("ID")], ("ID",), limit=understood)
    found = engine(database, f"jdbc:{product}:x", driver="a.Driver")

    found.describe(TableRequest(name="t", table="orders"))

    assert found.dialect.limit_rows("select a", 5) == FORMS[understood]


def test_form_that_a_product_takes_without_limiting_rows_is_none() -> None:
    database = OneTable([number("ID")], ("ID",), limit="limit 1", limited=7)
    found = engine(database, "jdbc:sap:x", driver="a.Driver")

    found.describe(TableRequest(name="t", table="orders"))

    assert found.dialect.limit_rows("select a", 5) == "select a"


@pytest.mark.parametrize("rows", [0, 1])
def test_form_is_relied_on_only_once_a_table_of_more_rows_than_one_has_shown_that_it_limits(rows: int) -> None:
    database = OneTable([number("ID")], ("ID",), limit="limit 1", rows_=rows)
    found = engine(database, "jdbc:sap:x", driver="a.Driver")

    found.describe(TableRequest(name="t", table="orders"))
    by_few = found.dialect.limit_rows("select a", 5)
    database.rows_ = 2
    found.describe(TableRequest(name="t", table="orders"))

    assert (by_few, found.dialect.limit_rows("select a", 5)) == ("select a", "select a limit 5")


@pytest.mark.parametrize(("refuses", "has_hash"), [("\0", True), ("ora_hash", False)])
def test_hash_of_the_vendors_documentation_is_used_only_where_the_database_takes_it(
    refuses: str, *, has_hash: bool
) -> None:
    database = OneTable([number("ID")], ("ID",), refuses=refuses, rows_=1)
    found = engine(database, "jdbc:oracle:thin:@h:1:s")
    found.describe(TableRequest(name="t", table="orders"))
    database.rows_ = 2
    table = found.describe(TableRequest(name="t", table="orders")).table

    assert (found.dialect.hash_predicate((("c0", table.key_columns[0]),), 0, 4) is not None) is has_hash


def test_table_without_key_is_named_with_the_setting_that_gives_it_one() -> None:
    with pytest.raises(UsageError, match="no primary key") as caught:
        engine(OneTable([number("ID")])).describe(TableRequest(name="t", table="orders"))

    assert "source.key" in caught.value.fix


def test_binary_key_is_refused_where_the_product_has_no_text_of_bytes() -> None:
    database = OneTable([Reported("ID", -3, "VARBINARY", 8, None, nullable=False)], ("ID",))

    with pytest.raises(UsageError, match="binary"):
        engine(database).describe(TableRequest(name="t", table="orders"))
    assert engine(database, "jdbc:h2:/x").describe(TableRequest(name="t", table="orders")).table.key == ("ID",)


def test_bound_is_the_clock_less_five_seconds_and_says_that_open_transactions_are_not_seen() -> None:
    database = OneTable([], clocks={"values current_timestamp": (100 * SECOND, False)})

    moment = engine(database).moment()

    assert (moment.clock_micros, moment.bound_micros) == (100 * SECOND, 95 * SECOND)
    assert "open transactions" in moment.bound_why
    assert "pull.overlap" in moment.bound_why


def test_clock_without_zone_is_read_in_the_configured_zone_and_one_with_a_zone_as_it_is() -> None:
    local = OneTable([], clocks={"select current_timestamp as hr_now from dual": (9 * 3600 * SECOND, False)})
    zoned = OneTable([], clocks={"select current_timestamp as hr_now": (9 * 3600 * SECOND, True)})

    seoul = {"driver": "a.Driver", "time_zone": "Asia/Seoul"}
    assert engine(local, "jdbc:foo:x", **seoul).moment().clock_micros == 0
    assert "Asia/Seoul" in engine(local, "jdbc:foo:x", **seoul).moment().bound_why
    assert engine(zoned, "jdbc:foo:x", **seoul).moment().clock_micros == 9 * 3600 * SECOND


def test_database_whose_clock_no_statement_reads_is_a_source_error() -> None:
    with pytest.raises(SourceError):
        engine(OneTable([]), "jdbc:foo:x", driver="a.Driver").moment()


def test_unknown_product_without_driver_is_told_to_name_class_and_jar() -> None:
    with pytest.raises(UsageError) as caught:
        engine(OneTable([]), "jdbc:foo://u:geheim@host/db")

    assert "source.driver" in caught.value.fix
    assert "jars.paths" in caught.value.fix
    assert "geheim" not in caught.value.message


def test_spark_gets_url_driver_and_password_and_shows_none_of_them() -> None:
    made = engine(OneTable([]), "jdbc:duckdb:/x", password="geheim")

    assert made.jdbc().properties == {
        "driver": "org.duckdb.DuckDBDriver", "password": "geheim", "duckdb.read_only": "true",
    }  # fmt: skip
    assert "geheim" not in repr(made.jdbc())
    assert "geheim" not in repr(JdbcSource(url="jdbc:x", password="geheim"))


def test_closed_engine_connects_again_at_the_next_question() -> None:
    database = OneTable([], clocks={"values current_timestamp": (0, False)})
    made = engine(database)

    made.close()
    made.moment()
    made.close()
    made.close()
    made.moment()

    assert database.closed == 1


def test_postgresql_by_jdbc_is_sent_to_its_own_engine() -> None:
    with pytest.raises(UsageError) as caught:
        engine(OneTable([]), "jdbc:postgresql://host/db", driver="org.postgresql.Driver")

    assert "postgresql+psycopg://" in caught.value.fix


def test_engine_that_is_ended_at_once_ends_statements_and_opens_no_connection_for_it() -> None:
    database = OneTable([number("ID")], ("ID",))
    found = engine(database)

    found.close(at_once=True)
    assert database.cancelled == 0
    found.describe(TableRequest(name="t", table="orders"))
    found.close(at_once=True)

    assert (database.cancelled, database.closed) == (1, 0)
