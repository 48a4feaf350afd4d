"""PURE: a config as it is printed: every default filled in, `***` for secrets and for what came from a reference."""

from __future__ import annotations

import io
import re
from typing import cast

from ruamel.yaml import YAML

from hudi_reconcile.config.fields import Location
from hudi_reconcile.config.load import Loaded
from hudi_reconcile.config.secrets import HIDDEN

Tree = dict[str, object]

_OPTION_SECTIONS = ("jdbc", "conf", "options")
_SECRET_WORDS = re.compile(
    r"password|passwd|pwd|secret|token|credential|access\.?key|account\.?key|sas\b", re.IGNORECASE
)


def shown_tree(loaded: Loaded) -> Tree:
    """The config as plain values that are safe to print."""
    tree: Tree = loaded.config.model_dump(mode="json")
    for location, text in loaded.shown.items():
        _put(tree, location, text)
    _hide_secret_options(tree)
    return tree


def as_yaml(tree: Tree) -> str:
    """The tree as YAML text, keys in the order of the contract."""
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    writer.width = 120
    text = io.StringIO()
    writer.dump(tree, text)
    return text.getvalue().rstrip("\n")


# --- helpers ---


def _put(tree: object, location: Location, text: str) -> None:
    *parents, last = location
    for step in parents:
        tree = cast("Tree", tree)[cast("str", step)]
    cast("Tree", tree)[cast("str", last)] = text


def _hide_secret_options(value: object) -> None:
    if isinstance(value, list):
        for item in value:
            _hide_secret_options(item)
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key in _OPTION_SECTIONS and isinstance(item, dict):
            value[key] = {name: HIDDEN if _SECRET_WORDS.search(name) else text for name, text in item.items()}
        else:
            _hide_secret_options(item)
