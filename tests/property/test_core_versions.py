"""Pulls by the version of rows lose no committed version, whatever transactions are open, how long, and when one pulls."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import example, given
from hypothesis import strategies as st

from hudi_reconcile.core.pull.cursor import (
    Mark,
    Order,
    Window,
    build_full_window,
    build_next_window,
    choose_next_checkpoint,
    holds,
    rank,
)

ORDER = Order(("xmin",))
KEYS, SESSIONS = 2, 2
# (what, session, key): a session writes a key, ends well, ends badly, or the lake pulls.
events = st.lists(
    st.tuples(
        st.sampled_from(("write", "write", "commit", "roll back", "pull")),
        st.integers(0, SESSIONS - 1),
        st.integers(0, KEYS - 1),
    ),
    min_size=5,
    max_size=40,
)


@dataclass(slots=True)
class Server:
    """Numbers are given at a transaction's first write; a written row is locked until its transaction ends."""

    next_number: int = 3
    open: dict[int, int] = field(default_factory=dict)
    written: dict[int, set[int]] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)  # key to the number of its committed version

    def write(self, session: int, key: int) -> None:
        if any(key in keys for other, keys in self.written.items() if other != session):
            return  # waits for the lock: as if it came later
        if session not in self.open:
            self.open[session] = self.next_number
            self.next_number += 1
        self.written.setdefault(session, set()).add(key)

    def end(self, session: int, *, well: bool) -> None:
        number, keys = self.open.pop(session, None), self.written.pop(session, set())
        if well and number is not None:
            self.rows |= dict.fromkeys(keys, number)

    @property
    def bound(self) -> int:
        return min(self.open.values(), default=self.next_number)


@dataclass(slots=True)
class Lake:
    """What pulls have brought; the first one reads everything."""

    seen: dict[int, int] = field(default_factory=dict)
    reached: Mark | None = None
    begun: bool = False

    def pull(self, server: Server) -> Window:
        bound = server.bound
        window = build_next_window(ORDER, self.reached, bound) if self.begun else build_full_window(ORDER)
        found = {key: number for key, number in server.rows.items() if holds(window, Mark(number))}
        self.seen |= found
        below = [Mark(number) for number in found.values() if number < bound]
        self.reached = choose_next_checkpoint(self.reached, max(below, default=None, key=rank))
        self.begun = True
        return window


# The late commit itself: 3 is given before 4, and ends after it.
@example([("write", 0, 0), ("write", 1, 1), ("commit", 1, 0), ("pull", 0, 0), ("commit", 0, 0)])
@given(events)
def test_every_committed_version_is_pulled_and_what_is_below_the_checkpoint_is_there(
    schedule: list[tuple[str, int, int]],
) -> None:
    server, lake = Server(), Lake()
    for what, session, key in schedule:
        if what == "write":
            server.write(session, key)
        elif what == "pull":
            lake.pull(server)
        else:
            server.end(session, well=what == "commit")
        late = {k for k, number in server.rows.items() if lake.reached and rank(Mark(number)) <= rank(lake.reached)}
        assert {k: server.rows[k] for k in late} == {k: lake.seen.get(k) for k in late}  # nothing late, ever

    for session in range(SESSIONS):
        server.end(session, well=True)
    lake.pull(server)
    assert lake.seen == server.rows
