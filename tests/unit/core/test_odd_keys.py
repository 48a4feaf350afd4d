from __future__ import annotations

from itertools import combinations, product

import pytest

from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.odd_keys import KeyMixing, choose_mixing, is_odd, record_key, spell_words

Key = tuple[str | None, ...]
ALONE, SHARED = KeyMixing.ALONE, KeyMixing.SHARED
NAMES = ("a", "b", "c")
# What Hudi's record key is made of, so that many keys have one record key.
PARTS = (None, "", "1", "__null__", "__empty__", "1,b:1", "1,c:1", "1,b:1,c:1", ",b:", "__null__,c:__empty__")


def alike() -> list[tuple[Key, Key]]:
    """Every two keys of these parts of which Hudi makes one record key."""
    by_record: dict[str, list[Key]] = {}
    for key in product(PARTS, repeat=3):
        by_record.setdefault(record_key(NAMES, key), []).append(key)
    return [pair for keys in by_record.values() for pair in combinations(keys, 2)]


def test_no_two_keys_that_are_not_odd_have_one_record_key() -> None:
    pairs = alike()

    assert len(pairs) > 100
    for mixing in (ALONE, SHARED):
        assert [pair for pair in pairs if not any(is_odd(NAMES, key, mixing) for key in pair)] == []


def test_key_that_is_taken_for_an_odd_one_of_a_shared_table_is_odd_or_spelled_like_it() -> None:
    """What another tool wrote is lost where its record key is written again: both are to be held back."""
    assert [
        (one, other)
        for one, other in alike()
        if not (is_odd(NAMES, one, SHARED) and is_odd(NAMES, other, SHARED)) and spell_words(one) != spell_words(other)
    ] == []


@pytest.mark.parametrize(
    ("key", "mixing", "expected"),
    [
        (("",), ALONE, True),
        ((None,), ALONE, False),
        (("__null__",), ALONE, False),
        (("x,a:",), ALONE, False),
        ((None, "x"), SHARED, False),
        (("", "x"), SHARED, False),
        (("", None), ALONE, True),
        (("__null__", "x"), ALONE, True),
        (("x", "__empty__"), ALONE, True),
        (("1,b:2", "3"), ALONE, True),
        (("1", "2,b:3"), ALONE, False),
        (("1", "2,b:3"), SHARED, True),
        (("a:1", "a:2"), SHARED, False),
    ],
)
def test_key_is_odd_where_hudi_takes_it_for_another_or_not_at_all(
    key: Key, mixing: KeyMixing, *, expected: bool
) -> None:
    assert is_odd(NAMES[: len(key)], key, mixing) is expected
    assert not is_odd(NAMES[: len(key)], key, KeyMixing.NONE)


@pytest.mark.parametrize(
    ("kind", "settings", "expected"),
    [
        (Kind.TEXT, {"is_owned": True, "is_spelled": True}, KeyMixing.NONE),
        (Kind.CHAR, {"is_owned": True, "is_spelled": False}, ALONE),
        (Kind.OWN_TEXT, {"is_owned": False, "is_spelled": False}, SHARED),
        (Kind.TEXT, {"is_owned": False, "is_spelled": True}, SHARED),  # made by us, and written by others since
        (Kind.UUID, {"is_owned": False, "is_spelled": False}, KeyMixing.NONE),
    ],
)
def test_keys_are_mixed_up_where_a_part_is_any_text_and_nothing_spells_it(
    kind: Kind, settings: dict[str, bool], expected: KeyMixing
) -> None:
    key = (Column("id", Kind.INTEGER, "bigint"), Column("code", kind, "text"))

    assert choose_mixing(key, **settings) is expected
