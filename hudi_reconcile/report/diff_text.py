"""What changed between two runs' findings, as lines. Pure: changes in, text out, one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from hudi_reconcile.core.finding_changes import ChangedFinding
from hudi_reconcile.report.formats import format_findings, key_text
from hudi_reconcile.report.visible import visible

_SIGNS = {"gained": "+", "lost": "-"}


def change_line(one: ChangedFinding) -> str:
    """A finding as NDJSON, with what became of it as its first field."""
    (line,) = format_findings(
        [json.dumps({"change": one.change, **json.loads(one.line)}, ensure_ascii=False)], "ndjson"
    )
    return line


def diff_lines(table: str, counts: Mapping[str, Mapping[str, int]], changes: Iterable[ChangedFinding]) -> Iterator[str]:
    """The counts of a table, then each finding that was gained (+) or lost (-); what was kept is only counted.

    `orders: 1 gained, 0 lost, 2 kept`
    """
    yield f"{visible(table)}: {', '.join(f'{sum(kinds.values()):,} {change}' for change, kinds in counts.items())}"
    for one in changes:
        if one.change in _SIGNS:
            finding = json.loads(one.line)
            columns = ", ".join(visible(name) for name in finding["columns"])
            yield f"  {_SIGNS[one.change]} {one.kind:<26}{key_text(finding['key'])}{f'  ({columns})' if columns else ''}"
