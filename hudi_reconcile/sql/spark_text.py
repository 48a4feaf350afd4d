"""Names and texts as Spark's SQL reads them, whatever is in them. Pure."""

from __future__ import annotations


def quote_name(name: str) -> str:
    """A column's exact name.

    >>> quote_name("a.b`c")
    '`a.b``c`'
    """
    return "`" + name.replace("`", "``") + "`"


def text_literal(text: str) -> str:
    """A text, by its bytes: how a quote or a backslash is escaped depends on a setting of Spark's."""
    return f"cast(X'{text.encode().hex()}' as string)"
