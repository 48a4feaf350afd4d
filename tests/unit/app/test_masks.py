"""What a change query shows of a lake table: no more than a sweep of it does."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_reconcile.app.jobs import derive_lake_masks
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.tables.agreement import agree
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.masking import Masking, list_shown_columns
from hudi_reconcile.core.tables.partitions import list_whole_columns
from hudi_reconcile.core.tables.values import LakeColumn, LakeTable, SourceTable

SOURCE = ("id", "email", "Phone", "c17", "note", "birth", "zip", "name", "updated_at")
RENAME = {"c17": "salary", "email": "contact", "id": "mail_id"}


def table(**settings: Any) -> TableConfig:
    return TableConfig.model_validate(
        {
            "name": "people",
            "source": {"table": "public.people", "key": ["id"]},
            "pull": {"strategy": "timestamp", "watermark": ["updated_at"]},
            "lake": {"path": "lake/people", "partition_by": ["month(birth)", "zip"]},
            "compare": {"rename": RENAME},
            **settings,
        }
    )


def lake(*more: str) -> LakeTable:
    names = (*(RENAME.get(name, name) for name in SOURCE), "birth_month", "_hr_read_seq", *more)
    return LakeTable(
        path="lake/people",
        name="people",
        type="copy_on_write",
        version=9,
        columns=tuple(LakeColumn(name, "string") for name in names),
        record_key=("mail_id",),
        partition_fields=("birth_month", "zip"),
        ordering_fields=("_hr_read_seq",),
        ordering="tool",
    )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"personal": "hmac"},
        {"personal": "show"},
        {"mask": {"Note": "hmac", "EMAIL": "show"}},
        {"mask": {"note": "redact", "c17": "show"}, "personal": "hmac"},
    ],
)
def test_change_query_masks_what_a_sweep_masks_and_says_the_same_of_it(settings: dict[str, Any]) -> None:
    config = table(**settings)
    columns = tuple(Column(name, Kind.TEXT, "text", lake_name=RENAME.get(name, "")) for name in SOURCE)
    source = SourceTable("public.people", columns, ("id",), 9, "db")
    agreed = agree(
        source, lake(), watermark=("updated_at",), exclude=frozenset(), partition_by=config.lake.partition_by
    )
    names = {one.column.name: one.column.lake_name for one in agreed.columns}
    shown = list_shown_columns(agreed, list_whole_columns(config.lake.partition_by))
    swept = Masking.of(config.mask, config.personal).select_masked(names, shown)

    found = derive_lake_masks(config, lake())

    assert dict(found.hidden) == {RENAME.get(name, name): how for name, how in swept.items()}
    assert len(names) == len(SOURCE)
    assert bool(found.notes) is (config.personal != "show")


def test_column_that_only_the_lake_has_is_masked_for_its_name_there_and_the_key_is_shown_with_the_reason() -> None:
    found = derive_lake_masks(table(), lake("old_iban", "old_note"))

    assert dict(found.hidden) == dict.fromkeys(("contact", "Phone", "salary", "birth", "name", "old_iban"), "redact")
    assert found.notes[0].startswith(
        "masked, being named like personal data (redact): email, Phone, c17, birth, name, old_iban;"
    )
    assert {note.split(": ")[1] for note in found.notes[1:]} == {"id", "zip", "birth_month"}
    assert [how is None for how in found.build_masks(b"key").values()] == [True] * 6
    assert all(derive_lake_masks(table(personal="hmac"), lake()).build_masks(b"key").values())
