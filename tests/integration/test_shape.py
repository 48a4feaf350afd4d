"""The figures of this checkout, hops of the command line included."""

from __future__ import annotations

import json

import pytest

from tests.support.shape import HOPS, main


def test_commands_are_followed_from_the_entry_of_the_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert tuple(name for name in document if name in HOPS) == HOPS
    for command in ("sweep", "apply"):
        (stage, stage_way), (cli, cli_way) = (
            split_way(document[f"{command}_from_{start}"]["names"]) for start in ("stage", "cli")
        )
        assert any(step.startswith("__main__.py -> ") for step in cli)
        assert stage < cli
        assert cli_way[0] == "__main__.py"
        assert cli_way[-len(stage_way) :] == stage_way


def split_way(names: list[str]) -> tuple[set[str], list[str]]:
    """The steps between modules, and the modules on the way to the comparison, which the last of the names lists."""
    *steps, way = names
    label, _, modules = way.partition(": ")
    assert label == "way"
    assert all(" -> " in step for step in steps)
    return set(steps), modules.split(", ")
