"""What a pull or a sweep would do, as text. Pure: reads the document that `--dry-run --format json` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hudi_reconcile.report.words.verdict import count_text, trust_lines

Document = Mapping[str, Any]
_MARGIN = 14
_SHOWN_PARTS = 16


def pull_plan_text(tables: Sequence[Document], trust: Sequence[str] = ()) -> str:
    """One block a table; nothing was read and nothing was written. `trust` are the checks that the config gave up."""
    return _blocks("no row was read, nothing was written", tables, trust, _pull_lines)


def sweep_plan_text(tables: Sequence[Document], trust: Sequence[str] = ()) -> str:
    """One block a table: what would be compared, and what it would cost. No verdict of any kind."""
    return _blocks("nothing was compared, nothing was written: this is no verdict", tables, trust, _sweep_lines)


def _blocks(
    what: str, tables: Sequence[Document], trust: Sequence[str], pairs: Callable[[Document], Iterator[tuple[str, str]]]
) -> str:
    lines = [*trust_lines(trust), f"DRY RUN  {what}"]
    for table in tables:
        lines += ["", f"{table['name']}:"]
        entries = pairs(table) if table["error"] is None else _error_lines(table["error"])
        lines += [f"  {label:<{_MARGIN - 2}}{text}" for label, text in entries]
    return "\n".join(lines)


def _error_lines(error: Document) -> Iterator[tuple[str, str]]:
    yield "NOT OK", error["message"]
    yield "", f"fix: {error['fix']}"


def _sweep_lines(table: Document) -> Iterator[tuple[str, str]]:
    where = "inside the source" if table["mode"] == "pushdown" else "in Spark"
    yield "digests", f"{where} ({table['mode_why']})"
    yield "rows", f"about {table['source_rows']:,} at the source, as its catalog says"
    yield "segments", f"{table['segments']['count']:,}, {table['segments']['by']}"
    yield "columns", ", ".join(table["compared_columns"])
    yield from (("left out", f"{item['what']} {item['name']}: {item['why']}") for item in table["not_compared"])
    yield "checkpoint", table["checkpoint"] or "none"
    yield "connections", f"at most {table['connections']}"
    yield from _cost_lines(table["estimate"], table)
    yield from (("note", note) for note in table["notes"])


def _cost_lines(estimate: Document | None, table: Document) -> Iterator[tuple[str, str]]:
    if estimate is None:
        return
    yield "time", f"about {estimate['seconds']:,.1f} s after Spark's start"
    if estimate["source_seconds"] is None:
        yield "link", f"about {estimate['link_bytes'] / 1e6:,.1f} MB of rows from the source to Spark"
    else:
        yield "source", f"about {estimate['source_seconds']:,.1f} s of one of its processors; no row leaves it"
    if estimate["budget_segments"] is not None:
        most = min(estimate["budget_segments"], table["segments"]["count"])
        yield "budget", f"{table['budget']} would suffice for about {most:,} of {table['segments']['count']:,} segments"


def _pull_lines(table: Document) -> Iterator[tuple[str, str]]:
    yield "pull", f"{table['mode']}, strategy {table['strategy']}"
    yield "checkpoint", table["checkpoint"] or "none"
    yield "window", f"after {table['after'] or 'the beginning'}, before {table['before'] or 'no end'}"
    yield "bound", f"{table['bound'] or 'none'} ({table['bound_why']})"
    yield from _lake(table)
    yield from _read(table["read"], table["connections"])
    yield from (("note", note) for note in table["notes"])


def _lake(table: Document) -> Iterator[tuple[str, str]]:
    create = table["create"]
    if create is None:
        yield "lake", f"upsert into {table['lake_path']}"
        return
    by = f", partitioned by {', '.join(create['partition_by'])}" if create["partition_by"] else ""
    yield "lake", f"create {table['lake_path']}: {create['type']}, key {', '.join(create['record_key'])}{by}"
    yield "columns", ", ".join(f"{column['name']} {column['type']}" for column in create["columns"])


def _read(read: Document | None, connections: int) -> Iterator[tuple[str, str]]:
    if read is None:
        yield "read", "nothing: no row can lie in this window"
        return
    parts = read["parts"]
    most = f"at most {count_text(connections, 'connection')}, {read['fetch_rows']:,} rows a fetch"
    many = f"{count_text(len(parts), 'part')}, {most}"
    yield "read", f"about {count_text(read['rows'], 'row')} in {many}"
    yield from (("", why) for why in read["why"])
    yield "sql", read["sql"]
    for number, part in enumerate(parts[:_SHOWN_PARTS], start=1):
        yield f"part {number}", f"{part['rows']:,} rows: {part['predicate']}"
    if len(parts) > _SHOWN_PARTS:
        yield "", f"and {len(parts) - _SHOWN_PARTS} more: --format json lists all"
