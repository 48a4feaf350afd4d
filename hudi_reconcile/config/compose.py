"""PURE: one config out of its layers. Which keys are laid over which, and what each table inherits.

    the file and what it includes  <  the profile  <  --set        then each table's own keys lie over `defaults`

So a default stays a default wherever it is set: a key of the table itself is stronger. Trust rules, reserved keys and all
other checks see the outcome alone, so no layer is a way around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hudi_reconcile.config.fields import Location, Raw
from hudi_reconcile.config.layers import (
    CALL_RANK,
    Layered,
    Node,
    PlacedProblem,
    ValueOrigin,
    build_node,
    flatten,
    merge,
)
from hudi_reconcile.config.overlay import COMMAND_LINE, Overlay, Setting, locate_setting
from hudi_reconcile.config.secrets import Template
from hudi_reconcile.config.table_rules import idle_findings
from hudi_reconcile.config.yaml_document import Problem
from hudi_reconcile.core.errors import UsageError, suggest_name

_OF_A_PROFILE = ("source", "spark", "jars", "reports", "run", "outputs", "audit", "defaults")
# These sections of a tree are checked as what they are; what is wrong in them shows again in each table.
_LAYERS = (("defaults",), ("profiles",))
_REFERENCES = "write ${file:PATH} or ${env:NAME}, and nothing else"


def compose(main: Node, included: Iterable[Node], overlay: Overlay) -> tuple[Layered, list[PlacedProblem]]:
    """The config of a file, the tables that it includes and what a call lays over them, and what is wrong with the layers.

    Raises:
        UsageError: there is no such profile; names those that there are.
    """
    root = _add_tables(main, tuple(included))
    problems: list[PlacedProblem] = []
    if overlay.profile is not None:
        profile = _find_profile(main, overlay.profile)
        for key in _OF_A_PROFILE:
            if key in profile.branches:
                under, over = _spell_reports(root, (key,), profile.branches[key])
                root = _lay(under, (key,), over)
        root, problems = _lay_tables(root, profile.branches.get("tables"))
    for index, setting in enumerate(overlay.settings):
        root, more = _set(root, setting, ValueOrigin(overlay.source, CALL_RANK, index))
        problems += more
    return flatten(_inherit_defaults(root), is_shared), problems


def is_shared(origin: ValueOrigin) -> bool:
    """True for what stands in `defaults`, of the file, of a profile or of the command line."""
    place = origin.location[2:] if origin.location[:1] == ("profiles",) else origin.location
    return place[:1] == ("defaults",)


def place_problems(layered: Layered, problems: Iterable[Problem]) -> Iterator[PlacedProblem]:
    """Problems of the merged config where they were written. What is wrong in a layer is told of the layer alone."""
    placed = [(problem.location[:1] in _LAYERS, layered.place(problem)) for problem in problems]
    origins = {problem.origin for is_layer, problem in placed if is_layer}
    yield from (problem for is_layer, problem in placed if is_layer or problem.origin not in origins)


def find_bare_secrets(layered: Layered, is_secret: Callable[[Location, object], bool]) -> Iterator[PlacedProblem]:
    """Secrets that stand on the command line themselves, where every user of the machine can read them."""
    for location, origin in layered.origins.items():
        value = layered.document.find_value(location) if origin.file == COMMAND_LINE else None
        if not isinstance(value, dict | list | None) and is_secret(location, value) and not _is_reference(value):
            yield PlacedProblem(origin, "is a secret, and other users can read a command line: " + _REFERENCES)


# --- helpers ---


def _add_tables(main: Node, included: tuple[Node, ...]) -> Node:
    """The file with the included tables behind its own."""
    own = main.branches.get("tables")
    if not included or (own is not None and not isinstance(own.value, list)):
        return main
    return main.put("tables", Node([*(own.items if own else ()), *included], own.origin if own else main.origin))


def _find_profile(main: Node, name: str) -> Node:
    profiles = main.branches.get("profiles")
    known = profiles.branches if profiles else {}
    if name in known:
        return known[name]
    raise UsageError(
        f"no profile {name!r} in the config{suggest_name(name, known)}",
        fix=f"legal after --profile: {', '.join(known)}" if known else "write it under `profiles:` in the config",
    )


def _is_reference(value: object) -> bool:
    try:
        return isinstance(value, str) and Template.parse(value).is_one_reference
    except ValueError:
        return False


def _lay(under: Node | None, location: Location, over: Node) -> Node:
    """`over` laid on the place of a location; sections on the way that are not there are made."""
    if not location:
        return over if under is None else merge(under, over)
    step = location[0]
    if isinstance(step, int):
        items = list(under.items if under else ())
        items[step] = _lay(items[step], location[1:], over)
        return Node(items, over.origin if under is None else under.origin)
    base = under if under is not None and isinstance(under.value, dict) else Node({}, over.origin)
    return base.put(step, _lay(base.branches.get(step), location[1:], over))


def _spell_reports(root: Node, location: Location, over: Node) -> tuple[Node, Node]:
    """`reports: PATH` as `reports: {path: PATH}` where the other side is a mapping: neither loses its path or mode."""
    given = root.branches.get("reports")
    if given is None or location[:1] != ("reports",):
        return root, over
    if isinstance(given.value, str) and (len(location) > 1 or isinstance(over.value, dict)):
        root = root.put("reports", Node({"path": given}, given.origin))
    if isinstance(given.value, dict) and len(location) == 1 and isinstance(over.value, str):
        over = Node({"path": over}, over.origin)
    return root, over


def _names(root: Node) -> list[str]:
    tables = root.branches.get("tables")
    return [table.text("name") or "" for table in (tables.items if tables else ())]


def _lay_tables(root: Node, tables: Node | None) -> tuple[Node, list[PlacedProblem]]:
    """A profile's tables on those of the file that have their names."""
    problems: list[PlacedProblem] = []
    names, seen = _names(root), set[str]()
    for over in tables.items if tables else ():
        name = over.text("name")
        if name is None:
            continue  # the check of the profile says so
        origin = over.branches["name"].origin
        if name in seen:
            problems.append(PlacedProblem(origin, "is the name of another table of the profile already"))
        elif name not in names:
            text = f"no such table in the file, and a profile adds none{suggest_name(name, names)}"
            problems.append(PlacedProblem(origin, text))
        else:
            root = _lay(root, ("tables", names.index(name)), over)
        seen.add(name)
    return root, problems


def _set(root: Node, setting: Setting, call: ValueOrigin) -> tuple[Node, list[PlacedProblem]]:
    """The config with one key set."""
    target = locate_setting(setting.key, _names(root))
    origin = call.enter(target.shown)
    if problems := setting.problems or tuple(filter(None, (target.problem,))):
        return root, [PlacedProblem(origin, text) for text in problems]
    under, over = _spell_reports(root, target.location, build_node(setting.value, origin.enter))
    return _lay(under, target.location, over), []


def _inherit_defaults(root: Node) -> Node:
    """The config with every table's keys on the defaults. What a table must say itself is inherited by none."""
    defaults, tables = root.branches.get("defaults"), root.branches.get("tables")
    if defaults is None or tables is None or not isinstance(tables.value, list):
        return root
    shared = defaults.drop("name")
    if (lake := shared.branches.get("lake")) is not None and isinstance(lake.value, dict):
        shared = shared.put("lake", lake.drop("path"))
    merged = [_drop_idle(merge(shared, table, is_own=True)) for table in tables.items]
    return root.put("tables", Node(merged, tables.origin))


def _drop_idle(table: Node) -> Node:
    """A table without the defaults that say nothing in it: they are meant for other tables."""
    plain = flatten(table, is_shared)
    values = plain.document.values
    for location, _ in idle_findings(Raw(values)) if isinstance(values, dict) else ():
        if is_shared(plain.origins[location]):
            table = _drop(table, location)
    return table


def _drop(node: Node, location: Location) -> Node:
    step, rest = str(location[0]), location[1:]
    return node.put(step, _drop(node.branches[step], rest)) if rest else node.drop(step)
