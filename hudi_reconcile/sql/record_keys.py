"""What `core/tables/odd_keys.py` says of a key, as Spark's SQL over its parts. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hudi_reconcile.core.tables.odd_keys import EMPTY_WORD, NULL_PLACES, NULL_WORD, KeyMixing, list_joint_names
from hudi_reconcile.sql.spark_text import text_literal


def render_odd(names: Sequence[str], parts: Sequence[tuple[str, str]], mixing: KeyMixing) -> str:
    """Whether a key is odd: its parts as SQL, each with its Spark type; never NULL."""
    texts = [(place, part) for place, (part, type_text) in enumerate(parts) if type_text == "string"]
    if mixing is KeyMixing.NONE or not texts:
        return "false"
    if len(parts) == 1:
        return f"coalesce({parts[0][0]} = '', false)"
    blank = " and ".join(f"coalesce(cast({part} as string), '') = ''" for part, _ in parts)
    words = [f"{text} in ('{NULL_WORD}', '{EMPTY_WORD}')" for _, text in texts]
    joints = [
        f"contains({text}, {text_literal(f',{name}:')})"
        for place, text in texts
        for name in list_joint_names(names, place, mixing)
    ]
    return f"({blank} or {' or '.join(f'coalesce({test}, false)' for test in (*words, *joints))})"


def render_misplaced(texts: Sequence[str]) -> str:
    """Whether one of a row's partition values, texts as SQL, is one that readers would see as NULL; never NULL."""
    places = ", ".join(text_literal(place) for place in NULL_PLACES)
    return " or ".join(f"coalesce({text} in ({places}), false)" for text in texts) or "false"


def render_words(parts: Sequence[str]) -> str:
    """The parts as Hudi writes them, as an array of texts."""
    texts = [f"cast({part} as string)" for part in parts]
    words = [
        f"case when {text} is null then '{NULL_WORD}' when {text} = '' then '{EMPTY_WORD}' else {text} end"
        for text in texts
    ]
    return f"array({', '.join(words)})"


def render_worded(parts: Sequence[str]) -> str:
    """Whether a part is written as a word, since it is NULL or empty; as SQL, never NULL."""
    return " or ".join(f"coalesce(cast({part} as string), '') = ''" for part in parts)
