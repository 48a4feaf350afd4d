"""Reading a table that Hudi does not find for a moment, while another writer begins to write to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from py4j.protocol import Py4JJavaError

T = TypeVar("T")
PAUSES_SECONDS = (0.1, 0.3, 1.0, 2.0)
_GONE = "TableNotFoundException"


def found_again(act: Callable[[], T], pause: Callable[[float], None] = time.sleep) -> T:
    """What `act` gives of a table that is there, tried again for some seconds where Hudi finds no table.

    Seen in `make writers`: an apply whose commit stood could not read it back, since another writer began just then. Raises
    what `act` raises otherwise, and that error where it stays.
    """
    for seconds in PAUSES_SECONDS:
        try:
            return act()
        except Py4JJavaError as error:
            if _GONE not in str(error.java_exception):
                raise
        pause(seconds)
    return act()
