"""Call paths whose crossings are known, and those of the fake world."""

from __future__ import annotations

import json
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.hops import (
    Trail,
    find_edges,
    find_symbol,
    follow_stages,
    has_two_sides,
    is_carried,
    list_figures,
)
from tests.support.package import Module, Package
from tests.support.shape import HopsError


@dataclass(frozen=True)
class Both:
    """What a comparer compares."""

    source: int
    lake: int


@dataclass(frozen=True)
class Other:
    """What it does not."""

    source: int
    lake: int
    clock: int


def follow(start: str, texts: dict[str, str]) -> Trail:
    """The trail of a call of `f`, which the file `start` defines. Files see each other's names; those in `/fakes` are fakes."""
    names: dict[str, Any] = {"Both": Both, "Other": Other}
    for file, text in texts.items():
        exec(compile(text, file, "exec"), names)  # noqa: S102
    trail = Trail(lambda file: file.startswith("/p/"), lambda file: file.startswith("/fakes/"), has_two_sides)
    call = names["f"]
    assert call.__code__.co_filename == start
    with trail.follow():
        call()
    return trail


def test_calls_between_modules_are_crossings_and_those_within_are_not() -> None:
    trail = follow("/p/a", {
        "/p/a": "def f(): g(); within(); g()\ndef within(): ...\n",
        "/p/b": "def g(): h()\n",
        "/p/c": "def h(): ...\n",
        "/p/d": "def never(): ...\n",
    })  # fmt: skip

    assert trail.crossings == [("/p/a", "/p/b"), ("/p/b", "/p/c")] * 2
    assert trail.entered == {"/p/a", "/p/b", "/p/c"}


def test_call_through_a_library_is_one_of_its_caller() -> None:
    trail = follow(
        "/p/a", {"/p/a": "def f(): sorted_by(g)\n", "/lib": "def sorted_by(key): key()\n", "/p/b": "def g(): ...\n"}
    )

    assert trail.crossings == [("/p/a", "/p/b")]


def test_what_a_fake_calls_is_no_part_of_the_path() -> None:
    trail = follow("/p/a", {
        "/p/a": "def f(): fake(); after()\n",
        "/fakes/lake": "def fake(): hidden()\n",
        "/p/b": "def hidden(): deeper()\ndef deeper(): ...\n",
        "/p/c": "def after(): ...\n",
    })  # fmt: skip

    assert trail.entered == {"/p/a", "/p/c"}
    assert trail.crossings == [("/p/a", "/p/c")]


def test_fake_that_begins_is_the_test_and_no_part_of_the_path() -> None:
    trail = follow(
        "/fakes/world", {"/fakes/world": "def f(): g()\n", "/p/a": "def g(): h()\n", "/p/b": "def h(): ...\n"}
    )

    assert trail.crossings == [("/p/a", "/p/b")]


def test_what_an_import_runs_is_no_part_of_the_path() -> None:
    trail = follow("/p/a", {
        "/p/a": "def f(): exec(compile('g()', '/p/late', 'exec'), globals())\n",
        "/p/b": "def g(): h()\n",
        "/p/c": "def h(): ...\n",
    })  # fmt: skip

    assert (trail.crossings, trail.entered) == ([], {"/p/a"})


def test_path_ends_where_a_fake_is_handed_the_rows_of_both_sides() -> None:
    trail = follow("/p/a", {
        "/p/a": "def f(): g(); compare(Other(1, 2, 3)); h(); compare(look=Both(1, 2)); late()\n",
        "/p/b": "def g(): ...\n",
        "/p/c": "def h(): ...\n",
        "/p/d": "def late(): ...\n",
        "/fakes/comparer": "def compare(look): ...\n",
    })  # fmt: skip

    assert trail.crossings == [("/p/a", "/p/b"), ("/p/a", "/p/c")]
    assert trail.has_compared


def test_records_are_those_made_or_handed_on_to_the_very_end() -> None:
    trail = follow("/p/a", {
        "/p/a": "made = Other(1, 2, 3)\ndef f(): compare(Both(1, 2)); late(one=made)\n",
        "/p/b": "def late(*, one): ...\n",
        "/fakes/comparer": "def compare(look): ...\n",
    })  # fmt: skip

    assert trail.records == {Both, Other}


def record_of(module: str, *, frozen: bool = True) -> type:
    """A dataclass that says it comes from this module."""
    found = make_dataclass("Record", [], frozen=frozen)
    found.__module__ = module
    return found


@pytest.mark.parametrize(
    "module",
    [
        "hudi_reconcile.stages.tally",
        "hudi_reconcile.stages.sweep.look",
        "hudi_reconcile.core.plan",
        "hudi_reconcile.core.apply.part",
    ],
)
def test_frozen_record_of_stages_plan_or_apply_is_carried(module: str) -> None:
    assert is_carried(record_of(module))
    assert not is_carried(record_of(module, frozen=False))


@pytest.mark.parametrize(
    "module", ["hudi_reconcile.core.planet", "hudi_reconcile.lake.plan", "hudi_reconcile", "stages.plan", "alone"]
)
def test_record_of_another_module_is_not_carried(module: str) -> None:
    assert not is_carried(record_of(module))


def test_trail_that_compared_nothing_is_an_error() -> None:
    with pytest.raises(HopsError, match="sweep_from_stage: no fake received"):
        list_figures({"sweep_from_stage": follow("/p/a", {"/p/a": "def f(): ...\n"})})


def package_of(*texts: str) -> Package:
    modules = [Module(name=f"hudi_reconcile.m{number}", is_init=False, text=text) for number, text in enumerate(texts)]
    return Package(name="hudi_reconcile", modules={module.name: module for module in modules})


@pytest.mark.parametrize(
    ("texts", "where"),
    [(["x = 1\n"], "no module"), (["def f(): ...\n", "class f: ...\n"], "hudi_reconcile.m0, hudi_reconcile.m1")],
)
def test_name_that_is_not_in_one_module_is_an_error(texts: list[str], where: str) -> None:
    with pytest.raises(HopsError, match=where):
        find_symbol(package_of(*texts), "f")


def test_port_that_no_class_serves_is_an_error() -> None:
    with pytest.raises(HopsError, match="no class has every method of the port Both"):
        find_edges(package_of("class A: ...\n"), type("Both", (), {"read": 1, "write": 2}))


def test_sweep_and_apply_of_the_fake_world_are_followed_to_a_comparison() -> None:
    trails = follow_stages()

    for trail in trails.values():
        assert trail.has_compared
        assert 5 < len(set(trail.crossings)) <= len(trail.crossings)
        assert all(Path(file).is_file() for file in trail.entered)
    figures = {name: (value, names) for name, value, names in list_figures(trails)}
    assert "Plan" in figures["records_of_apply"][1]
    assert json.loads(json.dumps(figures))
