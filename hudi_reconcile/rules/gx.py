"""Great Expectations itself: an ephemeral context, quiet and without telemetry, and expectations by their type's name.

It takes seconds to load, so each function loads it when it is called.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hudi_reconcile.core.rule_reach import out_of_reach
from hudi_reconcile.core.spelling import nearest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RULE = "rule"  # of an expectation's meta: whose it is


class UnknownExpectationError(ValueError):
    """No such type, not these keyword arguments, or not known to read the batch only.

    The message says what is legal and repeats no value.
    """


def library() -> Any:
    """The package, its expectations registered."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # read by the import in versions before 1.7
    import great_expectations  # noqa: PLC0415 - takes seconds
    import great_expectations.expectations  # noqa: PLC0415

    return great_expectations


def expectation(rule_id: str, kind: str, kwargs: Mapping[str, Any]) -> Any:
    """An expectation of a type, marked with the rule that it stands for.

    Raises:
        UnknownExpectationError: there is no such type, it does not take these arguments, or it is not known to read the
            batch only.
    """
    version = library().__version__
    from great_expectations.exceptions import ExpectationNotFoundError  # noqa: PLC0415 - as above
    from great_expectations.expectations import registry  # noqa: PLC0415

    try:
        made = registry.get_expectation_impl(kind)
    except ExpectationNotFoundError:
        known = registry.list_registered_expectation_implementations()
        raise UnknownExpectationError(f"Great Expectations {version} has no {kind!r}{_hint(kind, known)}") from None
    legal = tuple(made.__fields__)
    for name in kwargs:
        if name not in legal:
            raise UnknownExpectationError(f"{kind} takes no {name!r}{_hint(name, legal)}")
    if why := out_of_reach(kind, kwargs):
        raise UnknownExpectationError(why)
    try:
        return made(**{**kwargs, "meta": {**(kwargs.get("meta") or {}), _RULE: rule_id}})
    except Exception as error:  # noqa: BLE001 - each type raises as it likes; the arguments are wrong either way
        raise UnknownExpectationError(f"{kind}: {_problems(error)}") from None


def validated(rows: DataFrame, expectations: Sequence[Any]) -> dict[str, Any]:
    """Validate all expectations on the rows in one pass, BASIC; the results by rule. No row comes to the driver."""
    if not expectations:
        return {}
    from great_expectations.core.expectation_suite import ExpectationSuite  # noqa: PLC0415 - as above

    context = library().get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    source = context.data_sources.add_spark("lake", persist=False)
    batches = source.add_dataframe_asset("rows").add_batch_definition_whole_dataframe("all")
    batch = batches.get_batch({"dataframe": rows})
    found = batch.validate(ExpectationSuite("rules", expectations=list(expectations)), result_format="BASIC")
    return {one.expectation_config.meta[_RULE]: one for one in found.results}


def _hint(word: str, legal: Sequence[str]) -> str:
    close = nearest(word, legal)
    return f"; did you mean {close!r}?" if close else ""


def _problems(error: Exception) -> str:
    """What pydantic says of the arguments, without their values."""
    listed = getattr(error, "errors", None)
    if not callable(listed):
        return type(error).__name__
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in listed())
