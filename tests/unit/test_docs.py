"""The documents against the tree: commands, options, make targets, links, rooms and the config to copy must be real."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from hudi_reconcile.cli.main import group
from hudi_reconcile.cli.registry import COMMANDS, find_command
from hudi_reconcile.config.load import load_config
from hudi_reconcile.config.overlay import Overlay
from hudi_reconcile.config.selection import TableChoice
from hudi_reconcile.core.outcome import Outcome
from tests.support.docs import DOCUMENTS, ROOT, TOOL, blocks, commands, names_of_tests, shown_calls

README = ROOT / "README.md"
FIRST_TABLE = ROOT / "docs" / "first-table.md"
CALLS = [(path.name, call) for path in DOCUMENTS for call in shown_calls(path)]
MOST_WORDS = 800
NAMED_TESTS = sorted(
    {
        test
        for path in DOCUMENTS
        for test in re.findall(r"`(tests/[\w/.]+(?:::\w+|/test_\w+\.py))`", path.read_text("utf-8"))
    }
)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize(("document", "call"), CALLS, ids=[f"{name}: {' '.join(call)}" for name, call in CALLS])
def test_call_that_a_document_shows_is_one_that_the_tool_takes(document: str, call: list[str]) -> None:
    assert document
    with group.make_context(TOOL, list(call)) as context:
        name = (find_command(call) or "").partition(" ")[0]
        command: click.Command = COMMANDS[name].load()
        rest = call[call.index(name) + 1 :]  # options of the tool itself may stand before
        if isinstance(command, click.Group):
            command, rest = command.commands[rest[0]], rest[1:]

        parsed = command.make_context(name, rest, parent=context)

    assert parsed.command is command


def test_first_table_shows_every_command_of_the_daily_path() -> None:
    shown = {call[0] for call in shown_calls(FIRST_TABLE)}

    assert {
        "init",
        "config",
        "doctor",
        "pull",
        "sweep",
        "findings",
        "plan",
        "apply",
        "run",
        "history",
        "report",
    } <= shown


@pytest.mark.parametrize("test", NAMED_TESTS)
def test_test_that_a_document_names_is_there(test: str) -> None:
    path, _, name = test.partition("::")

    assert not name or name in names_of_tests(path)
    assert names_of_tests(path)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_make_targets_and_links_of_a_document_exist(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {line.split()[1] for line in commands(document) if line.startswith("make ")}
    linked = LINK.findall(document.read_text("utf-8"))

    assert named <= targets
    assert [link for link in linked if not (document.parent / link).exists()] == []


def test_config_in_the_readme_is_valid(tmp_path: Path) -> None:
    (config,) = blocks(README, "yaml")
    (tmp_path / "reconcile.yaml").write_text(config)

    found = load_config(tmp_path / "reconcile.yaml", {})

    assert [table.name for table in found.tables] == ["orders"]


def test_config_of_many_tables_is_valid_and_means_what_the_page_says(tmp_path: Path) -> None:
    page = ROOT / "docs" / "many-tables.md"
    for name, config in zip(("reconcile", "finance"), blocks(page, "yaml"), strict=True):
        (tmp_path / f"{name}.yaml").write_text(config)

    overlay = Overlay.of("prod", ["defaults.sweep.settle=1m"])
    found = load_config(tmp_path / "reconcile.yaml", {}, overlay=overlay)

    assert [table.name for table in found.tables] == ["orders", "users", "invoices"]
    assert [table.sweep.settle.seconds for table in found.tables] == [60, 30, 60]
    assert [(table.pull.limit, table.policy.max_deletes, table.lake.type) for table in found.tables] == [
        (None, 100, "merge_on_read"),
        (1_000_000, 100, "merge_on_read"),
        (None, 100, "merge_on_read"),
    ]
    assert [table.name for table in found.choose(TableChoice(tags=("finance",)))] == ["invoices"]


@pytest.mark.parametrize("name", ["catalogs.md", "cluster.md", "stopping.md"])
def test_whole_configs_of_a_page_are_valid(tmp_path: Path, name: str) -> None:
    configs = [text for text in blocks(ROOT / "docs" / name, "yaml") if text.startswith("version:")]

    assert configs
    for text in configs:
        (tmp_path / "reconcile.yaml").write_text(text)
        load_config(tmp_path / "reconcile.yaml", {})


def test_map_of_the_house_names_every_room_and_no_other() -> None:
    (house,) = [body for body in blocks(ROOT / "CONTRIBUTING.md", "") if body.startswith("hudi_reconcile/")]
    rooms = {path.name for path in (ROOT / "hudi_reconcile").iterdir() if (path / "__init__.py").exists()}

    assert set(re.findall(r"^  ([a-z_]+)/ ", house, re.MULTILINE)) == rooms


def test_map_of_the_house_names_every_folder_at_the_top() -> None:
    (house,) = [body for body in blocks(ROOT / "CONTRIBUTING.md", "") if body.startswith("hudi_reconcile/")]
    ignored = re.findall(r"^/?([\w-]+)/$", (ROOT / ".gitignore").read_text("utf-8"), re.MULTILINE)
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."} - {*ignored}

    assert set(re.findall(r"^([a-z_]+)/", house, re.MULTILINE)) == folders


def test_two_commands_of_the_readme_are_targets_of_the_makefile_beside_pyproject() -> None:
    first = next(body for body in blocks(README, "console") if "make" in body)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)

    assert re.findall(r"^\$ make (\w+)", first, re.MULTILINE) == ["demo", "test"]
    assert {"demo", "test"} <= {*targets}
    assert (ROOT / "pyproject.toml").is_file()


def test_exit_codes_in_the_readme_are_those_of_the_outcomes() -> None:
    rows = re.findall(r"^\| (\d) \| ((?:`\w+`(?:, )?)+) \|", README.read_text("utf-8"), re.MULTILINE)
    told = {outcome: int(code) for code, names in rows for outcome in re.findall(r"\w+", names)}

    assert told == {outcome.value: outcome.exit_code for outcome in Outcome}


def test_command_that_is_not_built_is_named_as_such() -> None:
    missing = FIRST_TABLE.read_text("utf-8").split("## What is not there yet")[1].split("\n## ")[0]
    not_built = {name for name, entry in COMMANDS.items() if entry.target.startswith("not_built")}

    assert {name for name in not_built if f"`{name}" not in missing} == set()


def test_readme_is_read_in_two_minutes_and_leads_to_every_document() -> None:
    text = README.read_text("utf-8")
    linked = {(ROOT / link).resolve() for link in LINK.findall(text)}

    assert len(text.split()) <= MOST_WORDS
    assert {path for path in (ROOT / "docs").glob("*.md") if path not in linked} == set()


def test_index_of_the_documents_names_each_of_them_once() -> None:
    index = ROOT / "docs" / "README.md"
    linked = [(index.parent / link).resolve() for link in LINK.findall(index.read_text("utf-8"))]
    pages = [path for path in (ROOT / "docs").glob("*.md") if path != index]

    assert {path.name: linked.count(path) for path in pages} == {path.name: 1 for path in pages}


def test_commands_of_the_readme_are_those_that_the_first_table_takes() -> None:
    walked = [call[:1] for call in shown_calls(FIRST_TABLE)]

    assert [call for call in shown_calls(README) if call[:1] not in walked] == []
