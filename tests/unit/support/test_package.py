"""Who imports whom, as the text of a package says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.package import Package, find_circles, read_package

Write = Callable[[dict[str, str]], Package]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the package `p` from texts by path, with an empty `__init__` in each folder that is given none."""

    def write(texts: dict[str, str]) -> Package:
        for name, text in texts.items():
            path = tmp_path / "p" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            for folder in [one for one in path.parents if one.is_relative_to(tmp_path / "p")]:
                (folder / "__init__.py").touch()
        return read_package(tmp_path / "p")

    return write


def test_folder_without_init_is_no_package(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="is no package"):
        read_package(tmp_path)


def test_modules_that_import_each_other_later_are_a_circle(write: Write) -> None:
    package = write({
        "a.py": "from p.room.b import f\n",
        "room/b.py": "def f():\n    import p.c\n",
        "c.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p import a\n",
        "d.py": "import p.a\n",
    })  # fmt: skip

    assert find_circles(package.graph) == [["p.a", "p.c", "p.room.b"]]


def test_modules_that_import_one_way_are_no_circle(write: Write) -> None:
    package = write(
        {"a.py": "from p.b import f\nfrom p.c import g\n", "b.py": "from p.c import g\n", "c.py": "import os\n"}
    )

    assert find_circles(package.graph) == []


def test_name_that_an_init_passes_on_counts_for_the_module_that_makes_it(write: Write) -> None:
    package = write({
        "__init__.py": "from p.room import f\n",
        "room/__init__.py": "from p.room.maker import f\n",
        "room/maker.py": "def f(): ...\n",
        "a.py": "from p import f\n",
        "b.py": "from p.room import f\n",
    })  # fmt: skip

    assert package.importers["p.room.maker"] == {"p.a", "p.b"}
    assert package.importers["p.room"] == frozenset()


def test_relative_imports_are_those_of_their_full_names(write: Write) -> None:
    package = write({
        "room/a.py": "from . import b\nfrom .b import f\nfrom ..c import g\n",
        "room/b.py": "",
        "room/__init__.py": "from .a import b\n",
        "c.py": "",
    })  # fmt: skip

    assert package.graph["p.room.a"] == {"p.room.b", "p.c"}
    assert package.graph["p.room"] == {"p.room.a"}


def test_init_that_passes_a_name_round_in_a_circle_ends_the_search(write: Write) -> None:
    package = write(
        {"x/__init__.py": "from p.y import f\n", "y/__init__.py": "from p.x import f\n", "a.py": "from p.x import f\n"}
    )

    assert all("p.a" not in by for by in package.importers.values())
