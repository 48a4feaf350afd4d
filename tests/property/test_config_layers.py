"""Keys spread over layers in any way mean what the strongest of them says; any assignment is taken or a config error."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.load import parse_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.overlay import NO_OVERLAY, Overlay
from hudi_reconcile.core.errors import ConfigError, UsageError

ON_A_BUSY_MACHINE = settings(deadline=None)
PLACE = Place("c.yaml", Path("/base"))
KEYS: dict[tuple[str, ...], list[object]] = {
    ("sweep", "settle"): ["0s", "5s", "9s"],
    ("sweep", "mode"): ["auto", "stream"],
    ("policy", "max_deletes"): [0, 7, 1000],
    ("lake", "type"): ["copy_on_write", "merge_on_read"],
    ("lake", "options", "hoodie.a.b"): ["x", "y"],
    ("mask", "e.mail"): ["hmac", "show"],
    ("tags",): [[], ["a"], ["b", "c"]],
    ("source", "where"): ["id = 1", "id = 2"],
}
NAMES = ("orders", "ord.ers")
# The weakest first. `{}` are the keys of one table, the others of all of them.
SHARED = ("defaults", "profile defaults", "--set defaults")
OWN = ("table {}", "profile table {}", "--set table {}")
LAYERS = (*SHARED, *(layer.format(name) for name in NAMES for layer in OWN))
ONE_LAYER = st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in KEYS.items()})
SPREAD = st.fixed_dictionaries(dict.fromkeys(LAYERS, ONE_LAYER))
Keys = dict[tuple[str, ...], Any]


def nested(keys: Keys) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in keys.items():
        here = tree
        for step in path[:-1]:
            here = here.setdefault(step, {})
        here[path[-1]] = value
    return tree


def entry(name: str, keys: Keys) -> dict[str, Any]:
    least = {("name",): name, ("source", "table"): "t", ("lake", "path"): f"lake/{name}"}
    return nested({**least, **keys})


def load(tables: list[dict[str, Any]], overlay: Overlay = NO_OVERLAY, **more: object) -> Config:
    tree = {"version": 1, "source": {"url": "postgresql://reader@h/d"}, **more, "tables": tables}
    return parse_config(json.dumps(tree), PLACE, {}, lambda _: "", overlay).config.model_copy()


@ON_A_BUSY_MACHINE
@given(SPREAD)
def test_each_key_is_what_its_strongest_layer_says(spread: dict[str, Keys]) -> None:
    assignments = [
        f"{place}.{'.'.join(path)}={json.dumps(value)}"
        for place, layer in (("defaults", SHARED[2]), *((f"tables.{name}", OWN[2].format(name)) for name in NAMES))
        for path, value in spread[layer].items()
    ]
    profile = {
        "defaults": nested(spread[SHARED[1]]),
        "tables": [{"name": name, **nested(spread[OWN[1].format(name)])} for name in NAMES],
    }

    found = load(
        [entry(name, spread[OWN[0].format(name)]) for name in NAMES],
        Overlay.of("p", assignments),
        defaults=nested(spread[SHARED[0]]),
        profiles={"p": profile, "other": {"defaults": {"tags": ["never"]}}},
    )

    strongest = [
        {key: value for layer in (*SHARED, *(one.format(name) for one in OWN)) for key, value in spread[layer].items()}
        for name in NAMES
    ]
    assert found.tables == load([entry(name, keys) for name, keys in zip(NAMES, strongest, strict=True)]).tables


@ON_A_BUSY_MACHINE
@given(
    st.lists(
        st.builds(
            "{}={}".format,
            st.lists(
                st.sampled_from(["tables", "orders", "source", "defaults", "lake", "reports", "x", "", "name"]),
                max_size=4,
            ).map(".".join),
            st.text(max_size=20)
            | st.sampled_from(["[]", "{}", "{a: {b: 1}}", "null", "1", "${env:A}", "${", "[{name: x}]"]),
        ),
        max_size=3,
    )
)
@example(["tables=[]"])
@example(["tables.orders.name=x", "tables.x.lake=null"])
@example(["version={}"])
def test_any_assignment_is_taken_or_a_named_error(assignments: list[str]) -> None:
    with contextlib.suppress(ConfigError, UsageError):
        load([entry("orders", {})], Overlay.of(None, assignments))


@ON_A_BUSY_MACHINE
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(["name", "lake", "source", "tables", "defaults", "p", "path", "reports"]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=6,
    ),
    st.sampled_from(["defaults", "profiles", "include"]),
)
def test_any_value_of_a_layer_is_taken_or_a_config_error(value: object, key: str) -> None:
    layers: dict[str, Any] = {"profiles": {"p": {}}, key: value}
    with contextlib.suppress(ConfigError, UsageError):
        load([entry("orders", {})], Overlay("p"), **layers)
    layers["profiles"] = {"p": value}
    with contextlib.suppress(ConfigError, UsageError):
        load([entry("orders", {})], Overlay("p"), **layers)
