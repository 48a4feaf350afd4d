"""Any choice of tables: in the config's order, each once, what the words say; what fits nothing is a named error."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hudi_reconcile.config.selection import TableChoice, choose_tables
from hudi_reconcile.core.errors import UsageError


@dataclass(frozen=True)
class Tagged:
    name: str
    tags: tuple[str, ...] = ()


NAMES = st.text("abA_.-1", min_size=1, max_size=4)
TABLES = st.lists(
    st.builds(Tagged, NAMES, st.lists(st.sampled_from("xyz"), unique=True, max_size=2).map(tuple)),
    unique_by=lambda table: table.name,
    min_size=1,
    max_size=6,
).map(tuple)
PATTERNS = st.text("abA_.-1*?[]!", min_size=1, max_size=4)
WORDS = st.lists(PATTERNS, max_size=2).map(tuple)
CHOICES = st.builds(TableChoice, WORDS, st.lists(st.sampled_from("xyz"), max_size=2).map(tuple), WORDS)


def fits(pattern: str, name: str) -> bool:
    """What a pattern means, by other means than the tool's: only `*` and `?` are special, and case counts."""
    parts = [".*" if char == "*" else "." if char == "?" else re.escape(char) for char in pattern]
    return re.fullmatch("".join(parts), name, re.DOTALL) is not None


def expected(tables: tuple[Tagged, ...], choice: TableChoice) -> list[str]:
    return [
        one.name
        for one in tables
        if (not choice.patterns or any(fits(pattern, one.name) for pattern in choice.patterns))
        and (not choice.tags or any(tag in one.tags for tag in choice.tags))
        and not any(fits(pattern, one.name) for pattern in choice.excludes)
    ]


@given(TABLES, CHOICES)
@example((Tagged("a"),), TableChoice(("[a]",)))
@example((Tagged("a"), Tagged("b", ("x",))), TableChoice(("*",), ("x",), ("a",)))
def test_choice_gives_what_it_says_in_the_configs_order_or_names_what_fits_nothing(
    tables: tuple[Tagged, ...], choice: TableChoice
) -> None:
    words = (*choice.patterns, *choice.excludes)
    misses = [one for one in words if not any(fits(one, table.name) for table in tables)]
    misses += [tag for tag in choice.tags if not any(tag in table.tags for table in tables)]

    if not misses and expected(tables, choice):
        assert [table.name for table in choose_tables(tables, choice)] == expected(tables, choice)
        return
    with pytest.raises(UsageError) as caught:
        choose_tables(tables, choice)
    assert not misses or any(repr(miss) in caught.value.message for miss in misses)


@given(TABLES)
def test_no_choice_is_every_table(tables: tuple[Tagged, ...]) -> None:
    assert choose_tables(tables, TableChoice()) == tables


@given(TABLES, st.data())
def test_name_without_wildcards_is_that_table_alone(tables: tuple[Tagged, ...], data: st.DataObject) -> None:
    table = data.draw(st.sampled_from(tables))

    assert choose_tables(tables, TableChoice((table.name, table.name))) == (table,)


@pytest.mark.parametrize(
    ("choice", "message", "fix"),
    [
        (TableChoice(("x*",)), "no table matches -t 'x*'", "legal after -t: orders, order_lines, users"),
        (TableChoice(("ORDERS",)), "no table 'ORDERS' in the config", "legal after -t: orders, order_lines, users"),
        (TableChoice(("order",)), "did you mean 'orders'?", "legal after -t: orders, order_lines, users"),
        (TableChoice(("O*",)), "no table matches -t 'O*'", "legal after -t: orders, order_lines, users"),
        (TableChoice(excludes=("usrs",)), "did you mean 'users'?", "legal after --exclude: orders, order_lines, users"),
        (TableChoice(tags=("nightly",)), "no table has the tag 'nightly'", "legal after --tag: night, shop"),
        (
            TableChoice(("orders",), ("shop",), ("o*",)),
            "-t 'orders' --tag 'shop' --exclude 'o*' leaves no table",
            "leave out one of them; the tables are orders, order_lines, users",
        ),
        (TableChoice(("users",), ("shop",)), "-t 'users' --tag 'shop' leaves no table", "leave out one of them"),
    ],
)
def test_choice_that_fits_nothing_is_a_usage_error_with_the_legal_words(
    choice: TableChoice, message: str, fix: str
) -> None:
    tables = (Tagged("orders", ("night", "shop")), Tagged("order_lines", ("shop",)), Tagged("users"))

    with pytest.raises(UsageError) as caught:
        choose_tables(tables, choice)

    assert message in caught.value.message
    assert caught.value.fix.startswith(fix)
