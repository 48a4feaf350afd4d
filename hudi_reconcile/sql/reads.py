"""Statements that read the same in every dialect: rows, counts, extents, key faults, parts. Pure text, sends nothing.

The predicates of a range name `hr_k`, the key column itself, so that its index can serve them. Rows by key may be too many
and never too few, for it is the last question before a delete: a text is met as the column compares, a time and a decimal
by what lies around it. The keys stand between two marks, so that what is logged leaves them out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal

from hudi_reconcile.core.pull.read_plan import Parts, ReadPart
from hudi_reconcile.core.sweep.segments import KeyRange, RangeSegments, SegmentSet, merge_ranges
from hudi_reconcile.core.tables.key_encoding import Key, KeyValue, convert_to_micros, write_edge
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, TEXT_KINDS, Column, Kind
from hudi_reconcile.core.tables.partitions import CalendarRange, Condition, Equals, IsEmpty, Near
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.sql.dialect import Dialect


def where_clause(predicates: tuple[str, ...]) -> str:
    """A WHERE clause of all predicates; empty without any."""
    # A comment at the end of the user's own predicate would swallow what follows it on the same line.
    closed = [
        f"({predicate}\n)" if "--" in predicate or "#" in predicate else f"({predicate})" for predicate in predicates
    ]
    return " where " + " and ".join(closed) if closed else ""


def wrap_query(query: str) -> str:
    r"""A query as something to select from. The line end closes a comment at its end.

    >>> wrap_query("select 1 as a -- one;")
    '(select 1 as a -- one\n) hr_q'
    >>> wrap_query("select 1 as a ; ")
    '(select 1 as a\n) hr_q'
    """
    return f"({strip_end(query)}\n) hr_q"


def strip_end(query: str) -> str:
    """A query without the end that people give it."""
    return query.strip().rstrip(";").rstrip()


def select_list(dialect: Dialect, columns: tuple[Column, ...]) -> str:
    """The columns under positional names `c0, c1, …`: no odd name ever reaches Spark's parser."""
    return ", ".join(f"{dialect.read(column)} as c{index}" for index, column in enumerate(columns))


def rows_query(dialect: Dialect, table: str, columns: tuple[Column, ...], predicates: tuple[str, ...]) -> str:
    """SELECT of the columns with all predicates. `table` is already quoted."""
    return f"select {select_list(dialect, columns)} from {table}{where_clause(predicates)}"


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


def segment_counts(
    dialect: Dialect, table: str, cut: RangeSegments, segments: SegmentSet, predicates: tuple[str, ...]
) -> tuple[str, ...]:
    """Counts `hr_rows`, which add up to the rows of some segments, each row in one of them.

    Each statement holds as many ranges as the dialect serves by the key's index: tests joined by OR are made row by row.
    """
    ranges, most = merge_ranges(cut, segments), dialect.RANGES_AT_ONCE
    batches = [ranges[first : first + most] for first in range(0, len(ranges), most)]
    rows = [dialect.ranges_query("1 as hr_row", table, cut.column, batch, predicates) for batch in batches]
    return tuple(f"select count(*) as hr_rows from ({query}) hr_c" for query in rows)


def segment_start(dialect: Dialect, cut: RangeSegments) -> str | None:
    """The first key of a row's segment, as far as `find_segment` cares: NULL of a NULL key; None where it is not known how."""
    key = dialect.quote(cut.column)
    first_high, last_low = cut.bounds(0)[1], cut.bounds(cut.count - 1)[0]
    if first_high is None:
        return f"case when {key} is not null then {cut.start} end"
    # Keys outside the inner segments are told by comparison: a difference of two far keys would overflow.
    ends = f"when {key} < {first_high} then {cut.start} when {key} >= {last_low} then {last_low}"
    if dialect.MODULO is None:
        return None
    # By the key itself, since a segment begins at a multiple of the width; what is left of a negative key is none or negative.
    rest = dialect.MODULO.format(a=key, b=cut.width)
    return f"case {ends} when {key} >= 0 or {rest} = 0 then {key} - {rest} else {key} - {rest} - {cut.width} end"


def grouped_counts(place: str, table: str, predicates: tuple[str, ...]) -> str:
    """SELECT of `hr_place`, which is SQL, and of how many rows have it, `hr_rows`."""
    rows = f"select {place} as hr_place from {table}{where_clause(predicates)}"
    return f"select hr_place, count(*) as hr_rows from ({rows}) hr_p group by hr_place"


def altered_query(
    dialect: Dialect, table: str, columns: tuple[Column, ...], predicates: tuple[str, ...]
) -> tuple[str, tuple[str, ...]] | None:
    """Counts per column of the values that the JDBC read would alter, and the columns' names; None without any such column."""
    counts, names = _altered_counts(dialect, columns)
    return (f"select {', '.join(counts)} from {table}{where_clause(predicates)}", names) if names else None


def survey_query(
    dialect: Dialect,
    table: SourceTable,
    predicates: tuple[str, ...],
    part: tuple[RangeSegments, SegmentSet] | None = None,
) -> tuple[str, tuple[str, ...]]:
    """The same counts per column after that of the rows, `hr_rows`, by one scan; and the columns' names.

    Some segments go by the key's index, and by a scan of the table where a statement cannot hold that many ranges.
    """
    counts, names = _altered_counts(dialect, table.columns)
    rows = table.name + where_clause(predicates)
    ranges = () if part is None else merge_ranges(*part)
    if part is not None and ranges and len(ranges) <= dialect.RANGES_AT_ONCE:
        shown = ", ".join(dialect.quote(column.name) for column in table.columns)
        rows = f"({dialect.ranges_query(shown, table.name, part[0].column, ranges, predicates)}) hr_n"
    return f"select {', '.join(('count(*) as hr_rows', *counts))} from {rows}", names


def _altered_counts(dialect: Dialect, columns: tuple[Column, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    tests = [(column.name, test) for column in columns if (test := dialect.find_altered(column)) is not None]
    counts = tuple(f"sum(case when {test} then 1 else 0 end) as n{place}" for place, (_, test) in enumerate(tests))
    return counts, tuple(name for name, _ in tests)


def count_query(table: str, predicates: tuple[str, ...]) -> str:
    """How many rows there are."""
    return f"select count(*) as hr_rows from {table}{where_clause(predicates)}"


def total_query(dialect: Dialect, table: str, column: str, predicates: tuple[str, ...]) -> str:
    """Sum, least and greatest value of a column, as text; NULL of no value."""
    name, texts = dialect.quote(column), {"hr_total": "sum", "hr_least": "min", "hr_greatest": "max"}
    shown = ", ".join(f"{dialect.text(f'{function}({name})')} as {alias}" for alias, function in texts.items())
    return f"select {shown} from {table}{where_clause(predicates)}"


def extent_query(dialect: Dialect, table: str, column: str, predicates: tuple[str, ...]) -> str:
    """Smallest and greatest value of an integer key column; an index answers it at once."""
    name = dialect.quote(column)
    return f"select min({name}) as low, max({name}) as high from {table}{where_clause(predicates)}"


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
    return dialect.limit_rows(f"select {shown} from ({_keys(dialect, table, key, predicates)}) hr_k where hr_n > 1", 5)


def _keys(dialect: Dialect, table: str, key: tuple[Column, ...], predicates: tuple[str, ...]) -> str:
    exact = [dialect.exact(dialect.quote(column.name), column) for column in key]
    named = ", ".join(f"{name} as hr_{index}" for index, name in enumerate(exact))
    return f"select {named}, count(*) as hr_n from {table}{where_clause(predicates)} group by {', '.join(exact)}"


KEY = "hr_k"
ALL = "1 = 1"


def part_query(
    dialect: Dialect, table: str, columns: tuple[Column, ...], key: tuple[Column, ...], where: tuple[str, ...]
) -> str:
    """SELECT of the columns, and last the key columns themselves, as `hr_k`, `hr_k1` and so on."""
    names = [f"{dialect.quote(column.name)} as {KEY}{index or ''}" for index, column in enumerate(key)]
    return f"select {', '.join((select_list(dialect, columns), *names))} from {table}{where_clause(where)}"


def predicates(dialect: Dialect, plan: Parts, key: Column, named: tuple[tuple[str, Column], ...]) -> tuple[str, ...]:
    """One predicate per part: each row fits exactly one. `named` are the key's columns as the query calls them.

    Parts by rank are the engine's own (`Ranks.predicate`).
    """
    if plan.how == "whole":
        return (ALL,)
    if plan.how == "range":
        return tuple(part_predicate(dialect, key, part) for part in plan.parts)
    shares = [dialect.hash_predicate(named, share, len(plan.parts)) for share in range(len(plan.parts))]
    conditions = tuple(share for share in shares if share is not None)
    if len(conditions) != len(plan.parts):
        raise ValueError(f"{dialect.NAME} has no hash to make shares of")
    return conditions


def part_predicate(dialect: Dialect, key: Column, part: ReadPart) -> str:
    """Keys of `[low, high)`; NULL where the part says so. Both ends open: every row."""
    ends = [(">=", part.low), ("<", part.high)]
    tests = [f"{KEY} {sign} {edge_literal(dialect, key, value)}" for sign, value in ends if value is not None]
    if not tests:
        return ALL
    inside = " and ".join(tests)
    return f"({inside}) or {KEY} is null" if part.nulls else inside


def edge_literal(dialect: Dialect, key: Column, value: KeyValue) -> str:
    """An edge as a literal of the key's type."""
    if isinstance(value, int) and key.kind in CALENDAR_KINDS:
        return dialect.literal(key, convert_to_micros(key, value))
    text = write_edge(key, value)
    if key.kind in (Kind.INTEGER, Kind.DECIMAL):
        return text
    return "'" + text.replace("'", "''") + "'"


def sample_query(
    dialect: Dialect, table: str, key: Column, where: tuple[str, ...], *, one_in: int, suffix: str = ""
) -> str | None:
    """One of so many keys, as text `hr_key`, chosen by a hash of the key: no stretch of keys is preferred.

    `suffix` is the table's own sampling clause where it has one. None where the dialect knows no way.
    """
    name = dialect.quote(key.name)
    tests = [*where, f"{name} is not null"]
    if not suffix and one_in > 1:
        share = dialect.hash_predicate(((name, key),), 0, one_in)
        if share is None:
            return None
        tests.append(share)
    return f"select {dialect.text(name)} as hr_key from {table}{suffix}{where_clause(tuple(tests))}"


_BEGIN, _END = "/* keys */", "/* end of keys */"
_MARKED = re.compile(re.escape(_BEGIN) + ".*" + re.escape(_END), re.DOTALL)
_WHOLE = re.compile(r"-?\d+\Z", re.ASCII)
_NUMBER = re.compile(r"-?\d+(\.\d+)?\Z", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.ASCII)
_EXACT = Context(prec=200)
_HEX = re.compile(r"([0-9A-F]{2})+\Z", re.ASCII)
_NOTHING = "''"
_SECOND_MICROS, _DAY_MICROS = 1_000_000, 86_400_000_000


def keys_predicate(dialect: Dialect, columns: Sequence[Column], keys: Sequence[Key]) -> str | None:
    """Rows whose key may be one of these, in canonical texts; None where a key has no part that can be said in SQL."""
    if len(columns) == 1 and columns[0].kind is Kind.INTEGER:
        numbers = [part for (part,) in keys if part is not None and _WHOLE.match(part)]
        if len(numbers) == len(keys):
            return _mark_keys(f"{dialect.quote(columns[0].name)} in ({', '.join(numbers)})")
    tests = [" and ".join(_parts(dialect, columns, key)) for key in keys]
    return _mark_keys(" or ".join(f"({test})" for test in tests)) if tests and all(tests) else None


def hide_keys(statement: str) -> str:
    """A statement as it may be logged.

    >>> hide_keys("select 1 from t where (/* keys */ id in (7) /* end of keys */)")
    'select 1 from t where (/* keys */)'
    """
    return _MARKED.sub(_BEGIN, statement)


def _mark_keys(tests: str) -> str:
    return f"{_BEGIN} {tests} {_END}"


def _parts(dialect: Dialect, columns: Sequence[Column], key: Key) -> Iterator[str]:
    for column, text in zip(columns, key, strict=True):
        test = f"{dialect.quote(column.name)} is null" if text is None else _test(dialect, column, text)
        if test is not None:
            yield test


def _test(dialect: Dialect, column: Column, text: str) -> str | None:
    """One part of a key; None where this kind, or this text, has no literal that is the same everywhere."""
    name = dialect.quote(column.name)
    if column.kind is Kind.INTEGER:
        return f"{name} = {text}" if _WHOLE.match(text) else None
    if column.kind in (Kind.DECIMAL, Kind.NUMBER):  # the lake may hold fewer digits than the source
        return _number_predicate(name, text) if _NUMBER.match(text) else None
    if column.kind in CALENDAR_KINDS:  # either side may hold fewer digits
        return _calendar_predicate(dialect, column, text) if _WHOLE.match(text) else None
    if column.kind is Kind.UUID:
        return f"{name} = '{text}'" if _UUID.match(text) else None
    if column.kind is Kind.BYTES and _HEX.match(text) and (said := dialect.bytes_literal(text)):
        return f"{name} = {said}"
    if column.kind in (Kind.TEXT, Kind.CHAR) and not text:
        return f"({dialect.says(column, _NOTHING)} or {name} is null)"
    if column.kind in (Kind.TEXT, Kind.CHAR, Kind.OWN_TEXT) and is_plain(text):
        return dialect.says(column, "'" + text.replace("'", "''") + "'")
    return None


def _number_predicate(name: str, text: str) -> str:
    # Added up here: a database's own sum may leave the type of its parts.
    low, high = (_EXACT.add(Decimal(text), step) for step in (-1, 1))
    return f"({name} > {low:f} and {name} < {high:f})"


def _calendar_predicate(dialect: Dialect, column: Column, text: str) -> str | None:
    name, at = dialect.quote(column.name), int(text)
    low, high = (at - _SECOND_MICROS, at + _SECOND_MICROS)
    if column.kind is Kind.DATE:
        low, high = at * _DAY_MICROS, (at + 1) * _DAY_MICROS
    try:
        return f"({name} >= {dialect.literal(column, low)} and {name} <= {dialect.literal(column, high)})"
    except OverflowError:  # beyond the year 9999
        return None


def is_plain(text: str) -> bool:
    """Whether a text in quotes is that text to every database: a backslash escapes in some, and '' is NULL to Oracle."""
    return bool(text) and "\\" not in text and text.isprintable()


def partition_predicate(dialect: Dialect, near: Near) -> str:
    """Rows for which any of the conditions holds; rows of other partitions may be among them."""
    return " or ".join("(" + " and ".join(_one(dialect, part) for part in parts) + ")" for parts in near)


def _one(dialect: Dialect, condition: Condition) -> str:
    name = dialect.quote(condition.column.name)
    match condition:
        case IsEmpty(column):
            return f"({name} is null or {name} = '')" if _is_text(column) else f"{name} is null"
        case Equals(_, value):
            return f"{name} = {value}" if isinstance(value, int) else f"{name} = '{value}'"
        case CalendarRange(column, low, high):
            return f"{name} >= {dialect.literal(column, low)} and {name} < {dialect.literal(column, high)}"


def _is_text(column: Column) -> bool:
    return column.kind in TEXT_KINDS or column.kind is Kind.CHAR
