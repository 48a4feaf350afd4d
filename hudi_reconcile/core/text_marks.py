"""Whether text can be a watermark: ISO dates or times that all look alike, so that bytes sort as time does. Pure."""

from __future__ import annotations

import re

from hudi_reconcile.core.marks import Mark

# Digits as 0. An offset other than Z may differ from row to row, and then text does not sort as time does.
_ISO = re.compile(r"0000-00-00([T ]00:00(:00([.,]0{1,9})?)?Z?)?")


def odd_shapes(shapes: tuple[str, ...], reached: Mark | None) -> tuple[str, ...]:
    """The shapes that are not ISO, or, where they are, all of them if there is more than one.

    >>> odd_shapes(("0000-00-00", "00.00.0000"), None), odd_shapes(("0000-00-00 00:00:00",), None)
    (('00.00.0000',), ())
    """
    before = {re.sub("[0-9]", "0", reached.value)} if reached and isinstance(reached.value, str) else set()
    odd = tuple(shape for shape in shapes if not _ISO.fullmatch(shape))
    every = sorted({*shapes, *before})
    return odd or (tuple(every) if len(every) > 1 else ())
