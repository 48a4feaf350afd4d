"""Follows a sweep and an apply over the fake world, call by call: which modules they pass through before rows are compared.

Run as a module it writes a JSON document, since the fakes that replace database, Spark and lake stay in place until the process
ends. It looks up what it needs of the product by name, in whichever module that is: the record `Edges`, the classes that
implement its ports, and the function `open_session`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, get_args, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_reconcile.__main__ import main as run_process
from hudi_reconcile.spark.session import Session
from tests.fakes.rows import Row
from tests.fakes.world import World, applied, pulled, swept
from tests.support.docs import ROOT
from tests.support.package import Package, read_package
from tests.support.shape import HopsError

_PRODUCT, _FAKES = ROOT / "hudi_reconcile", ROOT / "tests" / "fakes"
_DRIFT, _CORRECTED = 1, 0
_CONFIG = """version: 1
source: {url: "postgresql+psycopg://reader@127.0.0.1:5432/shop"}
tables:
  - name: t
    source: {table: public.t, key: [id]}
    pull: {strategy: timestamp, watermark: [at]}
    lake: {path: /lake/t}
    policy: {max_delete_share: 100%, max_upsert_share: 100%}
"""


@dataclass(slots=True)
class Trail:
    """The modules that a call path enters until rows are compared, and the records that it carries up to its end.

    `way` are the modules that are on the stack when rows are compared: those that somebody reads who walks from the command.

    A module is named by its file. Calls made by a fake are not part of the path.
    """

    is_product: Callable[[str], bool]
    is_fake: Callable[[str], bool]
    has_both_sides: Callable[[object], bool]
    crossings: list[tuple[str, str]] = field(default_factory=list, init=False)
    entered: set[str] = field(default_factory=set, init=False)
    records: set[type] = field(default_factory=set, init=False)
    way: list[str] = field(default_factory=list, init=False)
    has_compared: bool = field(default=False, init=False)

    @contextlib.contextmanager
    def follow(self) -> Iterator[None]:
        """Watch every Python call of the block."""
        sys.setprofile(self._see)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _see(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        file = frame.f_code.co_filename
        if self.is_fake(file):
            if not self.has_compared and any(map(self.has_both_sides, _arguments(frame))):
                self.has_compared = True
                files = [code.co_filename for code in _callers(frame) if self.is_product(code.co_filename)]
                self.way = list(dict.fromkeys(reversed(files)))
        elif self.is_product(file) or frame.f_code.co_name == "__init__":  # that of a record belongs to no file
            self.records.update(type(one) for one in _arguments(frame) if dataclasses.is_dataclass(one))
        if self.is_product(file) and not self.has_compared:
            self._enter(frame, file)

    def _enter(self, frame: FrameType, file: str) -> None:
        """Note a call into a module, unless a fake makes it or an import runs it."""
        above = [
            code for code in _callers(frame) if self.is_product(code.co_filename) or self.is_fake(code.co_filename)
        ]
        fakes = [self.is_fake(code.co_filename) for code in above]
        is_by_fake = True in fakes and False in fakes[fakes.index(True) :]  # the outermost fake only starts the path
        if is_by_fake or any(code.co_name == "<module>" for code in (frame.f_code, *above)):
            return
        self.entered.add(file)
        if False in fakes and above[0].co_filename != file:
            self.crossings.append((above[0].co_filename, file))


def follow_stages() -> dict[str, Trail]:
    """A sweep and an apply as the tests of the stages call them."""
    world, trails = drifted_world(), {"sweep_from_stage": new_trail(), "apply_from_stage": new_trail()}
    with trails["sweep_from_stage"].follow():
        draft = swept(world).draft
    with trails["apply_from_stage"].follow():
        applied(world, draft)
    return trails


def follow_commands(folder: Path) -> dict[str, Trail]:
    """A sweep and an apply as a shell calls them. From then on this process can open nothing but the fake world."""
    trails = {"sweep_from_cli": new_trail(), "apply_from_cli": new_trail()}
    (folder / "reconcile.yaml").write_text(_CONFIG, "utf-8")
    exchange_edges(drifted_world())
    with trails["sweep_from_cli"].follow():
        run_command(folder, "sweep", end=_DRIFT)
    with trails["apply_from_cli"].follow():
        run_command(folder, "apply", "latest", "--yes", end=_CORRECTED)
    return trails


class _Disk(dict[str, list[Row]]):
    """Returns what was saved under any path: a run folder is renamed once it is complete.

    Where a real folder holds the path, a file without rows is put there: a plan binds the files of its corrections.
    """

    def __setitem__(self, path: str, rows: list[Row]) -> None:
        super().__setitem__(path, rows)
        folder = Path(path.removeprefix("file://"))
        if folder.is_absolute():  # a stage's test names no folder
            folder.mkdir(exist_ok=True)
            texts = pa.schema([(name, pa.string()) for name in ("kind", "action", "reason", "line")])
            pq.write_table(texts.empty_table(), folder / "part-0.parquet")

    def __missing__(self, path: str) -> list[Row]:
        return next(iter(self.values()))


def drifted_world() -> World:
    """A row changed without its watermark, one gone at the source, and one that came late."""
    world = pulled(*((key, key, key) for key in range(1, 9)))
    world.disk = _Disk()
    world.source.put(1, 10, 1)
    world.source.delete(2)
    world.source.put(9, 9, 3)
    return world


def run_command(folder: Path, *arguments: str, end: int) -> None:
    """Run a command line in this process. Raises HopsError if its exit code is not `end`."""
    sys.argv = ["hudi-reconcile", "-c", str(folder / "reconcile.yaml"), *arguments]
    code: object = None
    try:
        run_process()
    except SystemExit as left:
        code = left.code
    if code != end:
        raise HopsError(f"{arguments[0]} over the fake world ended with {code}, not with {end}")


def exchange_edges(world: World) -> None:
    """Make every edge that the product opens from now on one of the fake world: no JVM, no database."""
    package = read_package(_PRODUCT)
    asked = get_type_hints(find_symbol(package, "Edges"))
    given, comparer = get_args(asked["make"])

    def make_comparer(*values: object, **named: object) -> object:
        both = (*values, *named.values())
        return world.edges.make(*(next(one for one in both if isinstance(one, kind)) for kind in given))

    make = {
        asked["source"]: lambda *_, **__: world.source,
        asked["lake"]: lambda *_, **__: world.lake,
        comparer: make_comparer,
    }
    for port, stand_in in make.items():
        for edge in find_edges(package, port):
            edge.__new__ = lambda _, *values, by=stand_in, **named: by(*values, **named)
    opened = find_symbol(package, "open_session")
    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == package.name]:
        for name in [name for name, value in vars(module).items() if value is opened]:
            setattr(module, name, open_nothing)


@contextlib.contextmanager
def open_nothing(*_: object) -> Iterator[object]:
    """A session that is never asked for rows."""
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(master="local[1]"))
    yield Session(spark=spark, jars=(), java=None, java_version="none", spark_version="none", start_seconds=0.0)


def find_symbol(package: Package, name: str) -> Any:
    """The function or class of this name. Raises HopsError unless exactly one module defines it."""
    makers = [
        module for module in package.modules.values() if name in {getattr(one, "name", "") for one in module.tree.body}
    ]
    if len(makers) != 1:
        where = ", ".join(module.name for module in makers) or "no module"
        raise HopsError(
            f"exactly one module must define {name}, and {where} does; if it was renamed, change tests/support/hops.py"
        )
    return getattr(import_module(makers[0].name), name)


def find_edges(package: Package, port: type) -> list[Any]:
    """The classes that have every method of a port. Raises HopsError if there is none."""
    asked = {name for name in vars(port) if not name.startswith("_")}
    found = [
        getattr(import_module(module.name), node.name)
        for module in package.modules.values()
        for node in module.classes
        if asked <= {getattr(one, "name", "") for one in node.body} and module.name != port.__module__
    ]
    if not found:
        raise HopsError(f"no class has every method of the port {port.__name__}")
    return found


def new_trail() -> Trail:
    """A trail through the product that leaves out the fakes."""
    product, fakes = f"{_PRODUCT}/", f"{_FAKES}/"
    return Trail(lambda file: file.startswith(product), lambda file: file.startswith(fakes), has_two_sides)


def has_two_sides(value: object) -> bool:
    """Whether it is a record with the fields `source` and `lake` and no others."""
    return dataclasses.is_dataclass(value) and {"source", "lake"} == {one.name for one in dataclasses.fields(value)}


def is_carried(record: type) -> bool:
    """Whether it is a frozen dataclass of the stages, or of a `core` module about plan or apply."""
    package, room, *rest = [*record.__module__.split("."), ""]
    words = {word for part in rest for word in part.split("_")}
    is_about = room == "stages" or (room == "core" and not words.isdisjoint({"plan", "apply"}))
    return package == _PRODUCT.name and is_about and bool(vars(record)["__dataclass_params__"].frozen)


def list_figures(trails: dict[str, Trail]) -> list[tuple[str, Any, list[str]]]:
    """The figures of the trails. Raises HopsError if a trail ended before rows were compared."""
    figures: list[tuple[str, Any, list[str]]] = []
    for name, trail in trails.items():
        if not trail.has_compared:
            raise HopsError(
                f"{name}: no fake received a record with the fields source and lake, so nothing was compared"
            )
        steps = [f"{_short(start)} -> {_short(end)}" for start, end in dict.fromkeys(trail.crossings)]
        value = {"hops": len(steps), "calls": len(trail.crossings), "entered": len(trail.entered)}
        figures.append((name, {**value, "way": len(trail.way)}, [*steps, f"way: {', '.join(map(_short, trail.way))}"]))
    carried = sorted(one.__qualname__ for one in trails["apply_from_stage"].records if is_carried(one))
    return [*figures, ("records_of_apply", len(carried), carried)]


def main(folder: Path) -> int:
    """Write `hops.json` into the folder; exit 1 with the reason on stderr if a path cannot be followed."""
    try:
        figures = list_figures({**follow_stages(), **follow_commands(folder)})
    except HopsError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    (folder / "hops.json").write_text(json.dumps(figures), "utf-8")
    return 0


def _callers(frame: FrameType) -> Iterator[Any]:
    above = frame.f_back
    while above is not None:
        yield above.f_code
        above = above.f_back


def _arguments(frame: FrameType) -> Collection[object]:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [frame.f_locals[name] for name in names if name in frame.f_locals]


def _short(file: str) -> str:
    return str(Path(file).relative_to(_PRODUCT))


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
