"""The types in which a pull makes columns."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.tables.agreement import is_comparable
from hudi_reconcile.core.tables.kinds import Column, Kind, choose_stored_type
from hudi_reconcile.core.tables.schema_drift import compare_with_lake

COLUMNS = [
    *(Column("c", Kind.INTEGER, f"{bits} bits", bits=bits) for bits in (None, 8, 16, 32, 64)),
    *(Column("c", Kind.DECIMAL, "numeric", precision=p, scale=s) for p, s in ((38, 0), (10, 10), (12, 2))),
    *(Column("c", kind, kind.value) for kind in Kind if kind not in (Kind.INTEGER, Kind.DECIMAL)),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: f"{column.kind} {column.declared}")
def test_column_as_a_pull_makes_it_can_be_compared_and_has_not_changed(column: Column) -> None:
    stored = choose_stored_type(column)

    assert compare_with_lake(column, stored) is None
    assert is_comparable(column.kind, stored) == (column.kind is not Kind.OTHER)
