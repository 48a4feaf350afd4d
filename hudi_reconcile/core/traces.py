"""An exception's traceback as far as a log may hold it: where and which, never the words of those that quote rows. Pure.

Spark's, the drivers' and Great Expectations' own texts hold values of rows, masked ones too; so do many of Python's.
"""

from __future__ import annotations

import re
from traceback import StackSummary, walk_tb

from hudi_reconcile.core.errors import ReconcileError

# What these say is about code or files.
_TELLING = (AttributeError, ImportError, NameError, NotImplementedError, OSError, TypeError)
_PLACE = re.compile(r"""^\s+(?:at [\w.$<>/()\-: ]+|File "[^"]*", line \d+, in [\w<>]+)$""")
_CAUSE = re.compile(r"^\s*((?:Caused by: )?[\w.$]+\.\w*(?:Error|Exception))\b")
_MOST_LINES = 80


def trace_of(error: BaseException) -> str:
    """The chain of exceptions, the first cause first, each with its places and its class; words only where they are of code."""
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    before = "" if earlier is None or earlier is error else f"{trace_of(earlier)}then:\n"
    frames = StackSummary.extract(walk_tb(error.__traceback__))
    places = "".join(f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n' for frame in frames)
    kind = type(error)
    own = isinstance(error, ReconcileError) or (kind.__module__ == "builtins" and isinstance(error, _TELLING))
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    return f"{before}{places}{name}{f': {error}' if own else ''}\n{places_of(str(error))}"


def places_of(text: str) -> str:
    r"""The places and classes of a Java or Python stack trace within a text; nothing of what its exceptions say.

    >>> places_of("An error: java.lang.X\nCaused by: a.BException: Ann\n\tat a.B.c(B.java:7)\nmore Ann")
    'Caused by: a.BException\n\tat a.B.c(B.java:7)\n'
    """
    found = []
    for line in text.splitlines():
        if _PLACE.match(line):
            found.append(line)
        elif cause := _CAUSE.match(line):
            found.append(cause.group(1))
    return "".join(f"{line}\n" for line in found[:_MOST_LINES])
