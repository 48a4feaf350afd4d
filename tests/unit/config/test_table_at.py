"""A table of which only the path is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_reconcile.config.tables import build_default_table
from hudi_reconcile.core.errors import UsageError


@pytest.mark.parametrize(
    ("path", "name", "place"),
    [
        ("/lake/orders", "orders", "/lake/orders"),
        ("lake/orders/", "orders", "/here/lake/orders"),
        ("s3a://bucket/lake/orders", "orders", "s3a://bucket/lake/orders"),
        ("/lake/Größe 1", "table", "/lake/Größe 1"),
        ("/", "table", "/"),
    ],
)
def test_table_at_a_path_is_named_as_its_folder_where_that_can_be_a_name(path: str, name: str, place: str) -> None:
    found = build_default_table(path, Path("/here"))

    assert (found.name, found.lake.path) == (name, place)


@pytest.mark.parametrize("path", ["", " ", "~/lake", "a\0b"])
def test_text_that_is_no_path_is_usage(path: str) -> None:
    with pytest.raises(UsageError, match="--path"):
        build_default_table(path, Path("/here"))
