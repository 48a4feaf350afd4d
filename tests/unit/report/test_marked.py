"""Marks leave the text as it is, and lie on what differs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.report.page.sample import Parts, mark_difference

TEXTS = st.text(alphabet="ab⟨U+0301⟩\u0301 Zü", max_size=30)


def joined(parts: Parts, *, differing: bool = True) -> str:
    return "".join(text for text, differs in parts if differing or not differs)


@given(TEXTS, TEXTS)
def test_pieces_are_the_text_and_what_is_not_marked_is_equal(left: str, right: str) -> None:
    ours, theirs = mark_difference(left, right)

    assert (joined(ours), joined(theirs)) == (left, right)
    assert joined(ours, differing=False) == joined(theirs, differing=False)


@given(TEXTS)
def test_equal_texts_have_no_mark(text: str) -> None:
    ours, _ = mark_difference(text, text)

    assert joined(ours, differing=False) == text


def test_letter_and_its_accent_and_what_is_spelled_out_are_marked_as_one() -> None:
    assert mark_difference("abce\u0301", "abce")[0] == (("abc", False), ("e\u0301", True))
    assert mark_difference("abc⟨U+200B⟩", "abc⟨U+200C⟩")[0] == (("abc", False), ("⟨U+200B⟩", True))


def test_texts_that_are_not_alike_are_marked_whole() -> None:
    assert mark_difference("abcd", "wxcz") == ((("abcd", True),), (("wxcz", True),))
