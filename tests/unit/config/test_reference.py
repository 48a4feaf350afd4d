"""The page of every key is the model's own, and the config that `init` writes shows each of them."""

from __future__ import annotations

import re

from hudi_reconcile.config.model import Config
from hudi_reconcile.config.partial import find_section
from hudi_reconcile.config.reference import FIRST_VERSION, key_paths, reference_page
from hudi_reconcile.config.show import CONFIG
from hudi_reconcile.config.yaml_document import read_document
from tests.support.docs import ROOT

PAGE = ROOT / "docs" / "configuration.md"
# Keys that stand behind another one in the template: beside it they would be wrong, or it is off by default.
BEHIND = {
    "tables[].source.query": "      table: public.orders ",
    "outputs.openlineage.": "#   openlineage: null ",
    "outputs.webhook.": "#   webhook: null ",
    "tables[].sweep.pause.": "    #         pause: null}",
}


def test_page_of_every_key_is_the_one_that_the_model_makes() -> None:
    assert PAGE.read_text("utf-8") == reference_page(), (
        "python -m hudi_reconcile.config.reference > docs/configuration.md"
    )


def test_page_has_a_row_with_type_default_meaning_and_version_for_every_key() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (.+?) \| (.*?) \| (.+?) \| (\d+\.\d+\.\d+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )

    assert [row[0] for row in rows].count("time_limit") == 2  # of a run, and of a table
    assert sorted(row[0] for row in rows) == sorted(path.rpartition(".")[2] for path in key_paths())
    assert {row[4] for row in rows} == {FIRST_VERSION}
    found = {row[0]: row[2] for row in rows}
    assert (found["statement_timeout"], found["max_upsert_share"], found["keep_commits"], found["url"]) == (
        "`5m`", "`20%`", "`60`", "required",
    )  # fmt: skip


def test_paths_of_keys_are_those_of_the_model() -> None:
    tables = find_section(Config.model_fields["tables"].annotation)
    assert tables is not None

    paths = set(key_paths())

    assert {f"tables[].{name}" for name in tables.model_fields} <= paths
    assert {"source.url", "outputs.webhook.on", "tables[].lake.partition_by", "profiles", "defaults"} <= paths


def test_config_that_init_writes_shows_every_key() -> None:
    lines = CONFIG.splitlines()
    switched_on = "\n".join(line.replace("# ", "", 1) if line.lstrip().startswith("# ") else line for line in lines[4:])
    document = read_document(switched_on)
    shown = {".".join(str(step) for step in place if not isinstance(step, int)) for place in document.lines}

    for path in key_paths():
        host = next((line for start, line in BEHIND.items() if path.startswith(start)), None)
        if host is None:
            assert path.replace("[]", "") in shown, path
        else:
            (line,) = [line for line in lines if line.startswith(host)]
            assert re.search(rf"\b{path.rpartition('.')[2]}: ", line.removeprefix(host)), path
