"""Statements that read the same in every dialect: rows, counts, extents, key faults. Pure text, sends nothing."""

from __future__ import annotations

from hudi_reconcile.core.kinds import Column
from hudi_reconcile.core.segments import KeyRange, RangeSegments, Segmentation, SegmentSet, ranges
from hudi_reconcile.sql.dialect import Dialect


def where(predicates: tuple[str, ...]) -> str:
    """A WHERE clause of all predicates; empty without any."""
    # A comment at the end of the user's own predicate would swallow what follows it on the same line.
    closed = [f"({one}\n)" if "--" in one or "#" in one else f"({one})" for one in predicates]
    return " where " + " and ".join(closed) if closed else ""


def derived(query: str) -> str:
    r"""A query as something to select from. The line end closes a comment at its end.

    >>> derived("select 1 as a -- one;")
    '(select 1 as a -- one\n) hr_q'
    >>> derived("select 1 as a ; ")
    '(select 1 as a\n) hr_q'
    """
    return f"({bare(query)}\n) hr_q"


def bare(query: str) -> str:
    """A query without the end that people give it."""
    return query.strip().rstrip(";").rstrip()


def select_list(dialect: Dialect, columns: tuple[Column, ...]) -> str:
    """The columns under positional names `c0, c1, …`: no odd name ever reaches Spark's parser."""
    return ", ".join(f"{dialect.read(column)} as c{index}" for index, column in enumerate(columns))


def rows_query(dialect: Dialect, table: str, columns: tuple[Column, ...], predicates: tuple[str, ...]) -> str:
    """SELECT of the columns with all predicates. `table` is already quoted."""
    return f"select {select_list(dialect, columns)} from {table}{where(predicates)}"


def range_predicate(name: str, key_range: KeyRange) -> str:
    """Rows whose integer key lies in the range; open ends stay open, NULLs only where the range says so.

    `name` is SQL: a quoted column or one of the positional names of `select_list`.
    """
    parts = []
    if key_range.low is not None:
        parts.append(f"{name} >= {key_range.low}")
    if key_range.high is not None:
        parts.append(f"{name} < {key_range.high}")
    if not key_range.keys:
        return f"{name} is null"
    if not key_range.nulls:
        return " and ".join(parts) or f"{name} is not null"
    return "(" + " and ".join(parts) + f") or {name} is null" if parts else "1 = 1"


def segments_predicate(dialect: Dialect, cut: Segmentation, segments: SegmentSet) -> str:
    """Rows whose integer key lies in some segments. Raises ValueError for segments by a hash."""
    if not isinstance(cut, RangeSegments):
        raise ValueError("segments by a hash have no key ranges")
    name = dialect.quote(cut.column)
    return " or ".join(f"({range_predicate(name, one)})" for one in ranges(cut, segments))


def uncarried_query(
    dialect: Dialect, table: str, columns: tuple[Column, ...], predicates: tuple[str, ...]
) -> tuple[str, tuple[str, ...]] | None:
    """Counts per column of the values that the JDBC read would alter, and the columns' names; None without any such column."""
    found = [(column.name, test) for column in columns if (test := dialect.uncarried(column)) is not None]
    if not found:
        return None
    counts = ", ".join(f"sum(case when {test} then 1 else 0 end) as n{i}" for i, (_, test) in enumerate(found))
    return f"select {counts} from {table}{where(predicates)}", tuple(name for name, _ in found)


def count_query(table: str, predicates: tuple[str, ...]) -> str:
    """How many rows there are."""
    return f"select count(*) as hr_rows from {table}{where(predicates)}"


def total_query(dialect: Dialect, table: str, column: str, predicates: tuple[str, ...]) -> str:
    """Sum, least and greatest value of a column, as text; NULL of no value."""
    name, texts = dialect.quote(column), {"hr_total": "sum", "hr_least": "min", "hr_greatest": "max"}
    shown = ", ".join(f"{dialect.text(f'{function}({name})')} as {alias}" for alias, function in texts.items())
    return f"select {shown} from {table}{where(predicates)}"


def extent_query(dialect: Dialect, table: str, column: str, predicates: tuple[str, ...]) -> str:
    """Smallest and greatest value of an integer key column; an index answers it at once."""
    name = dialect.quote(column)
    return f"select min({name}) as low, max({name}) as high from {table}{where(predicates)}"


def key_faults_query(dialect: Dialect, table: str, key: tuple[Column, ...], predicates: tuple[str, ...]) -> str:
    """Counts keys that occur twice (`duplicated`) and rows whose key is NULL throughout (`null_keys`)."""
    nulls = " and ".join(f"hr_{index} is null" for index in range(len(key)))
    return (
        f"select sum(case when hr_n > 1 then 1 else 0 end) as duplicated,"
        f" sum(case when {nulls} then hr_n else 0 end) as null_keys from ({_keys(dialect, table, key, predicates)}) hr_k"
    )


def key_sample_query(dialect: Dialect, table: str, key: tuple[Column, ...], predicates: tuple[str, ...]) -> str:
    """At most five keys that occur twice, as text, one column `s0, s1, …` per part."""
    shown = ", ".join(f"{dialect.text(f'hr_{index}')} as s{index}" for index in range(len(key)))
    return dialect.limited(f"select {shown} from ({_keys(dialect, table, key, predicates)}) hr_k where hr_n > 1", 5)


def _keys(dialect: Dialect, table: str, key: tuple[Column, ...], predicates: tuple[str, ...]) -> str:
    exact = [dialect.exact(dialect.quote(column.name), column) for column in key]
    named = ", ".join(f"{name} as hr_{index}" for index, name in enumerate(exact))
    return f"select {named}, count(*) as hr_n from {table}{where(predicates)} group by {', '.join(exact)}"
