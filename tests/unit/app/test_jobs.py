"""From a table's config to the settings of the stages, where the two name things differently."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hudi_reconcile.app.jobs import build_job, build_table_request, refuse_not_built
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.errors import NotBuiltError


@pytest.mark.parametrize(
    ("column", "partition", "name"),
    [
        ("updated at", "day(updated at)", "changed_day"),  # the lake cannot hold `updated at_day`
        ("updated_at", "day(updated_at)", "updated_at_day"),  # `<column>_day`, as readers expect it
        ("updated at", "updated at", "changed"),
    ],
)
def test_partition_column_has_a_name_that_the_lake_can_hold(
    tmp_path: Path, column: str, partition: str, name: str
) -> None:
    table = {
        "name": "orders",
        "source": {"table": "orders"},
        "pull": {"strategy": "timestamp", "watermark": [column]},
        "lake": {"path": "lake/orders", "partition_by": [partition]},
        "compare": {"rename": {column: "changed"}},
    }
    config = {"version": 1, "source": {"url": "postgresql+psycopg://r@h/d"}, "tables": [table]}
    (tmp_path / "reconcile.yaml").write_text(json.dumps(config))

    (found,) = load_config(tmp_path / "reconcile.yaml", {}).tables

    assert [field.lake_name for field in build_job(found, "run").lake.partition_by] == [name]
    assert build_table_request(found).derived_columns == (() if partition == column else (name,))


def test_load_of_a_jdbc_database_cannot_begin_a_pause_and_a_file_can(tmp_path: Path) -> None:
    def refuse(**pause: object) -> None:
        table = {
            "name": "orders",
            "source": {"table": "orders", "key": ["id"]},
            "pull": {"strategy": "full"},
            "lake": {"path": "lake/orders"},
            "sweep": {"pause": pause},
        }
        source = {"url": "jdbc:h2:tcp://h/d", "driver": "org.h2.Driver"}
        (tmp_path / "reconcile.yaml").write_text(json.dumps({"version": 1, "source": source, "tables": [table]}))
        config = load_config(tmp_path / "reconcile.yaml", {})
        refuse_not_built(config, config.tables)

    refuse(file="pause")
    with pytest.raises(NotBuiltError, match=r"tables\[orders\]\.sweep\.pause: statements and lag over jdbc"):
        refuse(file="pause", lag="30s")
