"""The commands that errors and guards name, as they are to be typed: with the config that the call was given. Pure."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from hudi_reconcile.core.result import TableResult

TOOL = "hudi-reconcile"
DEFAULT_CONFIG = "reconcile.yaml"
# Those that read the config; `hudi-reconcile` before any other word is the tool itself.
_COMMAND = re.compile(
    rf"{TOOL} (?=(?:apply|approve|audit|changes|check|config|diff|doctor|findings|history|plan|pull|report|rules|run|state"
    r"|sweep|undo)\b)"
)


def tool_with(config: str | None) -> str:
    """The tool's name with a config file, where that is not the default.

    >>> tool_with("reconcile.yaml"), tool_with(None), tool_with("my shop.yaml")
    ('hudi-reconcile', 'hudi-reconcile', "hudi-reconcile -c 'my shop.yaml'")
    """
    return TOOL if config in (None, DEFAULT_CONFIG) else f"{TOOL} -c {shlex.quote(str(config))}"


def with_config(text: str, config: str | None) -> str:
    """A text whose commands carry the config file; what carries one already stays as it is.

    >>> with_config("look: hudi-reconcile plan latest; then sweep with the hudi-reconcile that wrote it", "shop.yaml")
    'look: hudi-reconcile -c shop.yaml plan latest; then sweep with the hudi-reconcile that wrote it'
    """
    tool = tool_with(config)
    return _COMMAND.sub(lambda _: f"{tool} ", text)


def fixes_with_config(result: TableResult, config: str | None) -> TableResult:
    """A table's result whose fixes name the config file: of its error, its guards and what was not compared."""
    error = result.error
    return replace(
        result,
        error=None if error is None else replace(error, fix=with_config(error.fix, config)),
        guards=tuple(replace(one, fix=with_config(one.fix, config)) for one in result.guards),
        unverified=tuple(replace(one, fix=with_config(one.fix, config)) for one in result.unverified),
    )
