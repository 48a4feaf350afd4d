"""Mutants: a function's own text, edited, so that a mutant cannot outlive the line that it edits."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

Edits = Sequence[tuple[str, str]]


def edited(function: Callable[..., Any], edits: Edits) -> Any:
    """The function's code with its edits, to run under the function's own names."""
    text = textwrap.dedent(inspect.getsource(function))
    for old, new in edits:
        assert text.count(old) == 1, f"the mutant no longer fits: {old}"
        text = text.replace(old, new)
    names: dict[str, Any] = {}
    exec(compile(text, inspect.getfile(function), "exec"), dict(function.__globals__), names)  # noqa: S102
    return names[function.__name__].__code__
