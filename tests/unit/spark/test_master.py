"""`spark.master: null` joins a session, and starts none."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_reconcile.app.connections import request_session
from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.load import parse_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.spark.session import SessionRequest, start_session

TEXT = """version: 1
source: {url: "postgresql+psycopg://r@h/d"}
spark: {MASTER}
tables:
  - {name: orders, source: {table: a}, lake: {path: a}}
"""


def config(spark: str) -> Config:
    return parse_config(TEXT.replace("{MASTER}", spark), Place("r.yaml", Path("/srv")), {}, lambda _: "").config


@pytest.mark.parametrize(
    ("spark", "master"),
    [("{master: null}", None), ("{}", "local[*]"), ('{master: "spark://h:7077"}', "spark://h:7077")],
)
def test_master_of_the_config_reaches_the_session(spark: str, master: str | None) -> None:
    assert request_session(config(spark)).master == master


def test_no_session_is_started_where_one_was_to_be_joined() -> None:
    with pytest.raises(UsageError, match="no Spark runs in this process") as raised:
        start_session(SessionRequest(master=None), {})

    assert "spark-submit" in raised.value.fix
