"""The plan of a pull as text. Pure: reads the document that `pull --dry-run --format json` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hudi_reconcile.report.wording import counted, trust_lines

_MARGIN = 14
_SHOWN_PARTS = 16


def pull_plan_text(tables: Sequence[Mapping[str, Any]], trust: Sequence[str] = ()) -> str:
    """One block a table; nothing was read and nothing was written. `trust` are the checks that the config gave up."""
    lines = [*trust_lines(trust), "DRY RUN  no row was read, nothing was written"]
    for table in tables:
        lines += ["", f"{table['name']}:"]
        lines += [f"  {label:<{_MARGIN - 2}}{text}" for label, text in _table(table)]
    return "\n".join(lines)


def _table(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if table["error"] is not None:
        yield "NOT OK", table["error"]["message"]
        yield "", f"fix: {table['error']['fix']}"
        return
    yield "pull", f"{table['mode']}, strategy {table['strategy']}"
    yield "checkpoint", table["checkpoint"] or "none"
    yield "window", f"after {table['after'] or 'the beginning'}, before {table['before'] or 'no end'}"
    yield "bound", f"{table['bound'] or 'none'} ({table['bound_why']})"
    yield from _lake(table)
    yield from _read(table["read"], table["connections"])
    yield from (("note", note) for note in table["notes"])


def _lake(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    create = table["create"]
    if create is None:
        yield "lake", f"upsert into {table['lake_path']}"
        return
    by = f", partitioned by {', '.join(create['partition_by'])}" if create["partition_by"] else ""
    yield "lake", f"create {table['lake_path']}: {create['type']}, key {', '.join(create['record_key'])}{by}"
    yield "columns", ", ".join(f"{column['name']} {column['type']}" for column in create["columns"])


def _read(read: Mapping[str, Any] | None, connections: int) -> Iterator[tuple[str, str]]:
    if read is None:
        yield "read", "nothing: no row can lie in this window"
        return
    parts = read["parts"]
    many = f"{counted(len(parts), 'part')}, at most {counted(connections, 'connection')}, {read['fetch_rows']:,} rows a fetch"
    yield "read", f"about {counted(read['rows'], 'row')} in {many}"
    yield from (("", why) for why in read["why"])
    yield "sql", read["sql"]
    for number, part in enumerate(parts[:_SHOWN_PARTS], start=1):
        yield f"part {number}", f"{part['rows']:,} rows: {part['predicate']}"
    if len(parts) > _SHOWN_PARTS:
        yield "", f"and {len(parts) - _SHOWN_PARTS} more: --format json lists all"
