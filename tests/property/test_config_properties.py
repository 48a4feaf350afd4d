"""Properties text: what a writer of the format escapes is read back, wherever lines are broken, and no text breaks the reader."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from hudi_reconcile.config.hoodiestreamer.properties import PropertiesError, Property, parse_properties

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PAIRS = st.lists(st.tuples(TEXT, TEXT), max_size=5)
BROKEN = st.text(alphabet="a=: \t\f\\\n\r#!u0041é", max_size=40)


def escaped(text: str) -> str:
    """As java.util.Properties stores a text: every character that is not plain by its UTF-16 code."""
    units = text.encode("utf-16-be")
    codes = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    return "".join(f"\\u{code}" for code in codes)


@given(PAIRS, st.sampled_from(["=", ":", " ", "\t", " = ", " : ", "\f:\t"]), st.sampled_from(["\n", "\r", "\r\n"]))
@example([("a b", " c=\\")], "=", "\r\n")
def test_escaped_pairs_are_read_back(pairs: list[tuple[str, str]], separator: str, end: str) -> None:
    pairs = [(key, value) for key, value in pairs if key]
    text = "".join(f"  {escaped(key)}{separator}{escaped(value)}{end}# comment \\{end}{end}" for key, value in pairs)

    assert [(one.key, one.value) for one in parse_properties(text)] == pairs


@given(st.lists(st.text("abc", min_size=1), min_size=1), st.integers(0, 3))
def test_a_line_may_be_broken_anywhere(parts: list[str], blanks: int) -> None:
    broken = f"\\\n{' ' * blanks}".join(parts)

    assert parse_properties(f"\nkey={broken}\nnext=1") == (
        Property("key", "".join(parts), 2),
        Property("next", "1", 2 + len(parts)),
    )


@given(BROKEN)
@example("\\")
@example("a=b\\\n\n c=d")
@example("\\\n#a=b")
def test_any_text_gives_properties_or_a_named_line(text: str) -> None:
    try:
        found = parse_properties(text)
    except PropertiesError as error:
        lines = [error.line]
    else:
        lines = [one.line for one in found]
    assert lines == sorted(lines)
    assert set(lines) <= set(range(1, text.count("\n") + text.count("\r") + 2))
    assert len(set(lines)) == len(lines)
