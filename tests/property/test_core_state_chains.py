"""Each state of a file group is read as of a moment that shows it, and as few moments are loaded as there can be."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from hudi_reconcile.core.changes.file_history import FileState, StateChain, link_states
from hudi_reconcile.core.changes.range import Commit, FileGroup
from hudi_reconcile.core.tables.values import Instant
from hudi_reconcile.lake.changes.read_points import list_looks

History = tuple[list[Commit], list[Commit], list[Commit]]  # writes, services, asked writes
GROUPS = (("p", "a"), ("p", "b"), ("q", "a"))


def stamp(second: int, milliseconds: int = 0) -> str:
    return f"202601010000{second:02d}{milliseconds:03d}"


def commit(second: int, groups: frozenset[FileGroup]) -> Commit:
    return Commit(Instant(stamp(second), stamp(second, 500)), groups)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Writes, services among them, and which of the writes are asked for: one after the other, as an answer takes them."""
    drawn = draw(
        st.lists(st.tuples(st.frozensets(st.sampled_from(GROUPS), min_size=1), st.booleans()), min_size=1, max_size=7)
    )
    found = [(commit(second, groups), is_service) for second, (groups, is_service) in enumerate(drawn, 1)]
    writes = [one for one, is_service in found if not is_service]
    asked = [one for one in writes if draw(st.booleans())] if writes else []
    return writes, [one for one, is_service in found if is_service], asked


A, B = (frozenset({group}) for group in GROUPS[:2])
# A write that nobody asked for, of a group that is looked at later; and a compaction before such a look.
UNASKED = [commit(1, A), commit(2, A), commit(3, B), commit(5, B)]
COMPACTED = [commit(1, A), commit(2, B), commit(4, A)]


@example((UNASKED, [], [UNASKED[1], UNASKED[3]]), None)
@example((COMPACTED, [commit(3, A)], COMPACTED[1:]), None)
@given(histories(), st.none() | st.just(stamp(0)) | st.just(stamp(0, 999)))
def test_each_state_is_read_as_of_a_moment_from_its_last_write_up_to_before_the_next(
    history: History, archived: str | None
) -> None:
    writes, services, asked = history
    found = chains(history, archived)

    assert sorted(chain[0].group for chain in found) == sorted({group for one in asked for group in one.groups})
    for chain in found:
        group = chain[0].group
        own = [one.instant.requested for one in writes if group in one.groups]
        newest = max(one.instant.requested for one in asked)
        serviced = [
            one.instant.requested for one in services if group in one.groups and one.instant.requested <= newest
        ]
        for one in chain:
            seen = [requested for requested in own if requested <= one.moment]
            if one.requested is None:
                assert seen == [requested for requested in own if requested < (chain[one.place + 1].requested or "")]
            else:
                assert seen[-1] == one.requested
            assert one.moment >= (archived or "")
            following = min([requested for requested in own if requested > one.moment], default=stamp(59))
            assert not any(one.moment < requested < following for requested in serviced)
        assert [one.place for one in chain] == list(range(len(chain)))
        assert told(chain) == expected(own, asked, is_begun=archived is not None or done_of(history)[0] < own[0])


def told(chain: StateChain) -> list[tuple[str | None, int | None]]:
    return [(one.requested, one.n) for one in chain]


def expected(own: list[str], asked: list[Commit], *, is_begun: bool) -> list[tuple[str | None, int | None]]:
    """The commits asked for that wrote the group, and a state of nobody's before each that does not follow another of them."""
    places = {one.instant.requested: n for n, one in enumerate(asked)}
    found: list[tuple[str | None, int | None]] = []
    for earlier, requested in pairwise([None, *own]):
        if requested in places:
            unasked = earlier not in places and (earlier is not None or is_begun)
            found += [(None, None)] if unasked else []
            found.append((requested, places[requested]))
    return found


@given(histories())
def test_no_fewer_moments_could_show_all_the_states_and_reading_in_pairs_takes_no_fewer_without_services(
    history: History,
) -> None:
    found = chains(history, None)
    moments = {one.moment for chain in found for one in chain}
    newest = max([one.instant.requested for one in history[2]], default="")
    candidates = [one for one in done_of(history) if one <= newest]

    fewest = next(
        size
        for size in range(len(candidates) + 1)
        if any(show_all(found, set(some), history) for some in combinations(candidates, size))
    )
    assert len(moments) == fewest
    # Pairs are read as a commit was written, and not after a service of that state, which may take a moment of its own.
    if not history[1]:
        assert len(moments) <= len({look[0] for look in list_looks(history[2], done_of(history), None)})


def chains(history: History, archived: str | None) -> tuple[StateChain, ...]:
    writes, services, asked = history
    found = link_states(asked, writes, services, done_of(history), archived)
    assert found is not None
    return found


def done_of(history: History) -> list[str]:
    return sorted(one.instant.requested for one in (*history[0], *history[1]))


def show_all(found: tuple[StateChain, ...], moments: set[str], history: History) -> bool:
    return all(any(shows(moment, one, history) for moment in moments) for chain in found for one in chain)


def shows(moment: str, state: FileState, history: History) -> bool:
    """The same writes and services of the group are before it as before the moment that was chosen."""
    return before(moment, state.group, history) == before(state.moment, state.group, history)


def before(moment: str, group: FileGroup, history: History) -> list[str]:
    return [
        one.instant.requested
        for one in (*history[0], *history[1])
        if group in one.groups and one.instant.requested <= moment
    ]
