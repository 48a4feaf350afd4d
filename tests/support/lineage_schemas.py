"""OpenLineage's own JSON Schemas, and events held against them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

from tests.support.docs import ROOT

_SCHEMAS = [json.loads(path.read_text()) for path in (ROOT / "tests" / "support" / "openlineage").glob("*.json")]
_REGISTRY = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in _SCHEMAS)
(_SPEC,) = [schema["$id"] for schema in _SCHEMAS if schema["$id"].endswith("/OpenLineage.json")]


def hold_event(event: Mapping[str, Any]) -> None:
    """Raise ValidationError where the event, or a facet of it, is not what the specification says."""
    _hold(event, f"{_SPEC}#/$defs/RunEvent")
    facets = [*event["run"].get("facets", {}).values()]
    facets += [facet for one in event.get("inputs", ()) for facet in one.get("inputFacets", {}).values()]
    for facet in facets:
        _hold(facet, facet["_schemaURL"])


def _hold(document: object, reference: str) -> None:
    Draft202012Validator({"$ref": reference}, registry=_REGISTRY, format_checker=FormatChecker()).validate(document)
