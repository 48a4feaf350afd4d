"""SQL of the config is read when the config is: its faults stand beside all others, with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.errors import ConfigError

CONFIG = """\
version: 1
source: {{url: "{url}"}}
tables:
  - name: orders
    source:
      table: orders
      where: "{where}"
    pull: {{strategy: full}}
    lake: {{path: lake/orders}}
  - name: paid
    source:
      query: "{query}"
      key: [id]
    pull: {{strategy: full}}
    lake: {{path: lake/paid}}
"""


def written(folder: Path, *, where: str = "id > 1", query: str = "select id from t", url: str = "") -> Path:
    path = folder / "reconcile.yaml"
    path.write_text(CONFIG.format(where=where, query=query, url=url or "postgresql+psycopg://u@h/d"))
    return path


def test_both_texts_are_refused_at_once_with_their_lines_and_without_their_words(tmp_path: Path) -> None:
    path = written(tmp_path, where="${env:FILTER}", query="select id from t; drop table secret_name")

    with pytest.raises(ConfigError) as refused:
        load_config(path, {"FILTER": "true); drop table secret_name; select (1"})

    assert f"{path}:7: tables[0].source.where: closes a parenthesis" in refused.value.message
    assert f'{path}:12: tables[1].source.query: has a ";" outside quotes' in refused.value.message
    assert "secret_name" not in refused.value.message + refused.value.fix


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("postgresql+psycopg://u@h/d", "x = $$;$$"),
        ("mysql+pymysql://u@h/d", "x <=> 'a\\\\';b'"),
        ("mariadb+pymysql://u@h/d", "`x` = 1"),
        ("jdbc:oracle:thin:@h:1521:d", "x = 1 or x is null"),
    ],
)
def test_text_is_read_as_the_database_of_the_url_would(tmp_path: Path, url: str, where: str) -> None:
    found = load_config(written(tmp_path, url=url, where=where), {})

    assert found.tables[0].source.where == where.replace("\\\\", "\\")
