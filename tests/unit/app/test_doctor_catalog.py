"""What the doctor says of the catalog that is to show a table; it connects, and says nothing else to it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from hudi_reconcile.app.doctor.catalog import check_catalog
from hudi_reconcile.app.doctor.server import Check
from hudi_reconcile.core.lake.catalog_sync import GLUE_TOOL, MODE, URIS

ON = "hoodie.datasource.meta.sync.enable"
HMS = {ON: "true", MODE: "hms"}
CONF = "spark.hadoop.hive.metastore.uris"


def only_check(options: dict[str, str], conf: dict[str, str] | None = None, jars: tuple[Path, ...] = ()) -> Check:
    (found,) = check_catalog("orders", options, conf or {}, jars)
    return found


@pytest.fixture
def metastore() -> Iterator[str]:
    """Where something listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"thrift://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def nobody() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"thrift://127.0.0.1:{server.getsockname()[1]}"


def test_table_without_a_sync_has_no_line() -> None:
    assert list(check_catalog("orders", {URIS: "thrift://nowhere:1"}, {}, ())) == []


def test_metastore_that_takes_connections_is_ok_wherever_its_address_is_given(metastore: str) -> None:
    assert only_check({**HMS, URIS: metastore}).status == "ok"
    assert only_check(HMS, {CONF: metastore}).status == "ok"


def test_metastore_that_takes_none_fails_and_one_of_two_is_a_warning(metastore: str, nobody: str) -> None:
    found = only_check({**HMS, URIS: nobody}, {CONF: metastore})

    assert (found.status, nobody in found.detail) == ("fail", True)
    assert only_check({**HMS, URIS: f"{nobody}, {metastore}"}).status == "warn"
    assert only_check({**HMS, URIS: "not an address"}).status == "fail"


def test_metastore_within_the_session_and_hiveserver2_are_named_as_not_tried() -> None:
    assert "not tried" in only_check(HMS, {"spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:x"}).detail
    assert only_check({ON: "true"}).status == "warn"
    assert "not tried" in only_check({**HMS, "hoodie.datasource.hive_sync.use_spark_catalog": "true"}).detail


def test_tool_of_another_jar_fails_until_that_jar_is_named(tmp_path: Path) -> None:
    glue, jar = {ON: "true", "hoodie.meta.sync.client.tool.class": GLUE_TOOL}, tmp_path / "aws.jar"
    statuses = [one.status for one in check_catalog("orders", glue, {}, ())]
    with ZipFile(jar, "w") as archive:
        archive.writestr(GLUE_TOOL.replace(".", "/") + ".class", "")

    assert statuses == ["fail"]
    assert only_check(glue, jars=(jar,)).status == "ok"
