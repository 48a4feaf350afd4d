"""Figures of small packages whose answers are known."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support import shape
from tests.support.package import Module, Package
from tests.support.shape import Figure, is_verb, list_fields, main, measure_package, percentiles, read_verbs, render

LONG = "x = 1\n" * 60


def package_of(texts: Mapping[str, str]) -> Package:
    """The package `p` of texts by dotted name; a name that ends in a dot is that of an `__init__`."""
    modules = [
        Module(name=f"p.{name}".rstrip("."), is_init=name.endswith(".") or not name, text=dedent(text))
        for name, text in {"": "", **texts}.items()
    ]
    return Package(name="p", modules={module.name: module for module in modules})


def figure(name: str, texts: Mapping[str, str]) -> Figure:
    (found,) = [one for one in measure_package(package_of(texts)) if one.name == name]
    return found


def class_of(text: str) -> ast.ClassDef:
    (node,) = ast.parse(dedent(text)).body
    assert isinstance(node, ast.ClassDef)
    return node


def function_of(text: str) -> ast.FunctionDef:
    (node,) = ast.parse(f"{text}: ...").body
    assert isinstance(node, ast.FunctionDef)
    return node


def test_init_files_are_packages_and_their_lines_count() -> None:
    texts = {"": "a\n", "room.": "a\nb\n", "room.a": "1\n2\n3\n", "room.b": "1\n"}

    values = {name: figure(name, texts).value for name in ("modules", "packages", "lines", "module_lines")}

    assert values == {"modules": 2, "packages": 2, "lines": 7, "module_lines": {"p50": 1, "p90": 3, "max": 3}}


def test_small_module_that_one_other_imports_is_a_satellite() -> None:
    texts = {
        "a": "from p import small, big, shared\n",
        "b": "from p import shared\n",
        "small": "",
        "shared": "",
        "big": LONG,
    }

    assert figure("satellites", texts).names == ["p.small"]


@pytest.mark.parametrize("name", ["ports.clock", "room.", "__main__"])
def test_ports_and_entries_are_no_satellites(name: str) -> None:
    assert figure("satellites", {name: "", "ports.": "", "a": f"import p.{name}".rstrip(".")}).value == 0


def test_circles_are_named_by_their_modules() -> None:
    assert figure("circles", {"a": "import p.b", "b": "import p.a", "c": "import p.a"}).names == ["p.a - p.b"]


@pytest.mark.parametrize(
    ("decorator", "body", "positional"),
    [
        ("dataclass", "a: int; b: int; c: int; d: int = 0", 4),
        ("dataclasses.dataclass(frozen=True)", "a: int; b: int", 2),
        ("dataclass(kw_only=True)", "a: int; b: int", 0),
        ("dataclass(kw_only=False)", "a: int; b: int", 2),
        ("dataclass", "a: int; b: int; _: KW_ONLY; c: int; d: int", 2),
        ("dataclass", "a: int; b: int = field(init=False); c: int = field(default=0, kw_only=True)", 1),
    ],
)
def test_fields_that_may_be_given_by_position_are_told(decorator: str, body: str, positional: int) -> None:
    assert sum(list_fields(class_of(f"@{decorator}\nclass A: {body}")).values()) == positional


def test_fields_of_a_dataclass_are_what_its_instances_hold() -> None:
    body = "a: int; b: ClassVar[int] = 1; c: InitVar[str]; d: typing.ClassVar[int]; e = 3; _f: int = 0"

    assert list(list_fields(class_of(f"@dataclass\nclass A: {body}"))) == ["a", "_f"]


def test_dataclass_of_thirteen_fields_is_wide_and_one_of_twelve_is_not() -> None:
    def text(name: str, fields: int) -> str:
        return f"@dataclass(kw_only=True)\nclass {name}:\n" + "".join(f"    f{one}: int\n" for one in range(fields))

    texts = {"a": text("A", 13) + text("B", 12), "b": text("C", 14).replace("@dataclass(kw_only=True)\n", "")}

    assert figure("wide_dataclasses", texts).names == ["p.a.A: 13"]
    assert figure("largest_dataclass", texts).value == {"A": 13}
    assert figure("dataclasses", texts).value == 2


def test_dataclass_with_four_positions_is_positional_and_one_of_three_is_not() -> None:
    texts = {"a": "@dataclass\nclass A: a: int; b: int; c: int; d: int\n@dataclass\nclass B: a: int; b: int; c: int\n"}

    assert figure("positional_dataclasses", texts).names == ["p.a.A: 4"]


def test_class_with_thirteen_public_methods_is_told() -> None:
    def text(name: str, methods: int) -> str:
        return f"class {name}:\n    def _hidden(self): ...\n    x = 1\n" + "".join(
            f"    def m{one}(self): ...\n" for one in range(methods)
        )

    assert figure("wide_classes", {"a": text("A", 13) + text("B", 12)}).names == ["p.a.A: 13"]


def test_lines_of_a_function_are_those_from_def_to_its_end() -> None:
    text = """
        @decorated
        def f():
            def g():
                return 1
            return g
        """

    assert figure("functions", {"a": text}).value == 2
    assert figure("function_lines", {"a": text}).value == {"p50": 2, "p90": 4, "max": 4}


def test_public_functions_are_those_that_others_may_call() -> None:
    text = """
        def read():
            def told(): ...
        def _told(): ...
        class A:
            def told(self): ...
            @property
            def rows(self): ...
            @functools.cached_property
            def more(self): ...
            @rows.setter
            def rows(self, rows): ...
            def __iter__(self): ...
        class _B:
            def told(self): ...
        """

    assert figure("public_functions", {"a": text}).value == 2
    assert figure("verb_percent", {"a": text}).value == 50.0
    assert figure("verb_percent", {"a": text}).names == ["p.a.told"]


@pytest.mark.parametrize(
    "text",
    [
        "def read_rows()",
        "def sweep()",
        "def list_()",
        "def is_open() -> bool",
        "def holds() -> bool",
        "def carries() -> bool",
    ],
)
def test_name_that_begins_with_a_verb_is_one(text: str) -> None:
    assert is_verb(function_of(text))


@pytest.mark.parametrize(
    "text",
    [
        "def told()",
        "def carried_rows()",
        "def with_key()",
        "def rows()",
        "def plan_of()",
        "def holds()",
        "def is_open() -> str",
    ],
)
def test_participle_preposition_or_noun_is_no_verb(text: str) -> None:
    assert not is_verb(function_of(text))


def test_list_of_verbs_holds_base_forms_once() -> None:
    lines = [line for line in shape.VERBS.read_text("utf-8").splitlines() if not line.startswith("#")]
    words = [word for line in lines for word in line.split()]
    like_participles = {word for word in words if word.endswith(("ed", "ing"))}

    assert words == sorted(set(words))
    assert like_participles == {"bring", "embed", "exceed", "feed", "need", "ping", "proceed", "succeed"} & set(words)
    assert read_verbs().isdisjoint(
        {"told", "held", "found", "made", "left", "gone", "with", "of", "by", "from", "without"}
    )


def test_class_name_that_two_modules_bear_is_shared() -> None:
    texts = {
        "a": "class A: ...\nclass _P: ...\nclass B:\n    class C: ...\n",
        "b": "class A: ...\nclass _P: ...\nclass C: ...\n",
    }

    assert figure("shared_class_names", texts).names == ["A: p.a, p.b"]


def test_stem_is_shared_between_rooms_and_not_within_one() -> None:
    texts = {"x.keys": "", "y.deep.keys": "", "x.rows": "", "x.deep.rows": "", "x.same.": "", "y.same.": ""}

    assert figure("shared_stems", texts).names == ["keys: x, y"]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [([], (0, 0, 0)), ([7], (7, 7, 7)), ([3, 1, 2], (2, 3, 3)), (range(1, 101), (50, 90, 100))],
)
def test_percentiles_are_numbers_that_occur(numbers: list[int], expected: tuple[int, int, int]) -> None:
    assert tuple(percentiles(numbers).values()) == expected


def test_empty_package_has_figures() -> None:
    assert {one.name: one.value for one in measure_package(package_of({}))}["verb_percent"] == 0.0


def test_every_figure_is_defined_in_one_line() -> None:
    defined = re.findall(r"^(\w+): .+$", shape.__doc__ or "", re.MULTILINE)

    assert [one.name for one in measure_package(package_of({}))] == defined[: -len(shape.HOPS)]
    assert tuple(defined[-len(shape.HOPS) :]) == shape.HOPS


def test_table_has_one_line_a_figure() -> None:
    figures = [Figure("lines", 12_345), Figure("module_lines", {"p50": 1, "max": 2_000}), Figure("verb_percent", 27.5)]

    assert render(figures, as_json=False).splitlines() == [
        "lines         12,345",
        "module_lines  p50 1  max 2,000",
        "verb_percent  27.5",
    ]


def test_other_checkout_is_measured_by_its_text_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hudi_reconcile").mkdir()
    (tmp_path / "hudi_reconcile" / "__init__.py").write_text("raise RuntimeError('it was run')\n", "utf-8")

    assert main(["--json", "--root", str(tmp_path)]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["packages"] == {"value": 1, "names": []}
    assert document.keys().isdisjoint(shape.HOPS)


def test_folder_without_the_package_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(tmp_path)]) == 2

    assert "--root takes the folder that holds hudi_reconcile/" in capsys.readouterr().err
