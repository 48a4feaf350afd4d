"""PURE: the JSON Schema of the config, for editors. Beyond the model it allows `${…}` where a text is expected."""

from __future__ import annotations

from typing import cast

from hudi_reconcile.config.model import Config

Schema = dict[str, object]

_REFERENCE: Schema = {"type": "string", "pattern": r"\$\{(env|file):"}


def json_schema() -> Schema:
    """The schema, draft 2020-12."""
    schema = cast("Schema", _with_references(Config.model_json_schema(mode="validation")))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "reconcile.yaml of hudi-reconcile",
    }


# --- helpers ---


def _with_references(node: object) -> object:
    """Every text that is held to a pattern or a list of words may be a reference as well."""
    if isinstance(node, list):
        return [_with_references(item) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") == "string" and ("pattern" in node or "enum" in node):
        about = {key: node[key] for key in ("title", "description", "default") if key in node}
        rule = {key: value for key, value in node.items() if key not in about}
        return {**about, "anyOf": [rule, _REFERENCE]}
    return {key: _with_references(value) for key, value in node.items()}
