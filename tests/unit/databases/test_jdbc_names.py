from __future__ import annotations

from dataclasses import dataclass

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.source.jdbc import DriverFacts, Relation
from hudi_reconcile.databases.jdbc.names import find, split_name

THERE = (
    Relation("CAT", "PUBLIC", "ORDERS", "TABLE"),
    Relation("CAT", "PUBLIC", "Order Items", "TABLE"),
    Relation("CAT", "Shop", "ORDERS", "VIEW"),
)


@dataclass(frozen=True, slots=True)
class Listed:
    """Lists what it holds, as a driver does: None is any."""

    there: tuple[Relation, ...] = THERE

    def relations(self, catalog: str | None, schema: str | None, name: str | None) -> list[Relation]:
        wanted = ((catalog, "catalog"), (schema, "schema"), (name, "name"))
        return [one for one in self.there if all(value in (None, getattr(one, field)) for value, field in wanted)]


def facts(folds: str = "upper", schema: str | None = "PUBLIC") -> DriverFacts:
    catalog = None if schema is None else "CAT"
    return DriverFacts(product="X", version="1", user="u", folds=folds, catalog=catalog, schema=schema)


@pytest.mark.parametrize(
    ("name", "schema", "found"),
    [
        ("orders", "PUBLIC", "ORDERS"),
        ("public.orders", "PUBLIC", "ORDERS"),
        ('"Shop".orders', "Shop", "ORDERS"),
        ('cat."Shop".ORDERS', "Shop", "ORDERS"),
        ('"Order Items"', "PUBLIC", "Order Items"),
    ],
)
def test_name_is_found_as_its_quotes_and_the_databases_case_mean_it(name: str, schema: str, found: str) -> None:
    table = find(Listed(), facts(), name, "jdbc:x")

    assert (table.schema, table.name) == (schema, found)


def test_database_that_folds_no_name_finds_unquoted_ones_in_any_case() -> None:
    listed = Listed((Relation("CAT", "main", "Orders", "TABLE"),))

    assert find(listed, facts("none", "main"), "MAIN.ORDERS", "jdbc:x").name == "Orders"
    with pytest.raises(UsageError, match="does not exist"):
        find(listed, facts("none", "main"), '"ORDERS"', "jdbc:x")


def test_missing_table_is_named_with_the_quoted_name_that_was_meant() -> None:
    with pytest.raises(UsageError) as caught:
        find(Listed((Relation("CAT", "PUBLIC", "orders", "TABLE"),)), facts(), "orders", "jdbc:x")

    assert 'did you mean "orders", in quotes?' in caught.value.message
    assert "quotes" in caught.value.fix


def test_name_in_several_schemas_is_ambiguous() -> None:
    with pytest.raises(UsageError, match=r"ambiguous in jdbc:x: PUBLIC\.ORDERS, Shop\.ORDERS"):
        find(Listed(), facts(schema=None), "orders", "jdbc:x")


@pytest.mark.parametrize("name", ["", "a b", 'a"b"', '"a', "a..b", "a.b.c.d", "a;b c", "a."])
def test_what_is_no_table_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is not a table name"):
        split_name(name)
