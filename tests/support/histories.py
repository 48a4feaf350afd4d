"""Random histories of a table: a few keys, some commits of inserts, updates, deletes and rewrites. For property tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from hudi_reconcile.core.changes.queries import Change, Image, compare_states
from hudi_reconcile.core.tables.values import READ_SEQ

# What one commit does to a key: the value that it writes, or None to delete it. Few values, so that rows are written again
# as they were and come back to what they had been.
commit = st.dictionaries(st.integers(1, 5), st.none() | st.integers(0, 2), max_size=5)
commits = st.lists(commit, min_size=1, max_size=8)

Row = Mapping[Any, Image]


@dataclass(frozen=True, slots=True)
class History:
    """The table before each commit and after the last, and the change log of all of them."""

    states: tuple[Row, ...]
    log: tuple[Change, ...]

    def between(self, first: int, last: int) -> tuple[Change, ...]:
        """The log of the commits from `first` up to, not including, `last`."""
        return tuple(change for change in self.log if first <= change.commit < last)


def history_of(writes: list[dict[int, int | None]]) -> History:
    states: list[dict[int, Image]] = [{}]
    log: list[Change] = []
    for number, write in enumerate(writes):
        state = dict(states[-1])
        for key, value in write.items():
            if value is None:
                state.pop(key, None)
            else:
                state[key] = {"v": value, READ_SEQ: number}
        written = [key for key, value in write.items() if value is not None]
        log += compare_states(number, states[-1], state, written)
        states.append(state)
    return History(tuple(states), tuple(log))
