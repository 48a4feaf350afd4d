"""Two finished runs held against each other: which findings came, went and stayed. Reads their files only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.finding_changes import CHANGES, ChangedFinding, changes_between
from hudi_reconcile.core.result import compared_whole
from hudi_reconcile.evidence.findings import chosen_kinds, read_findings
from hudi_reconcile.evidence.names import FINDINGS_FOLDER, RESULT_FILE
from hudi_reconcile.evidence.store import COMPARED, Store

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TableDiff:
    """One table of both runs: its changes, read while they are used, and what a reader must know about them."""

    name: str
    changes: Callable[[], Iterator[ChangedFinding]]
    notes: tuple[str, ...]

    def counts(self) -> dict[str, dict[str, int]]:
        """How many findings of each kind were gained, lost and kept; kinds without any are left out."""
        found = Counter((one.change, one.kind) for one in self.changes())
        return {change: {kind: n for (c, kind), n in sorted(found.items()) if c == change} for change in CHANGES}


@dataclass(frozen=True, slots=True)
class RunDiff:
    """Two runs by id, and the tables that both compared."""

    runs: tuple[str, str]
    tables: tuple[TableDiff, ...]
    notes: tuple[str, ...]


def diff_runs(store: Store, pair: tuple[str, str], *, tables: Collection[str], kinds: Collection[str]) -> RunDiff:
    """Hold the findings of two sweeps or runs against each other, the first taken for the earlier.

    Raises:
        UsageError: no such run, table or kind, or no table in common.
        RefusedError: the files are not what the audit log has of them.
        EvidenceError: the files are not what the results say; may come while reading.
    """
    wanted = chosen_kinds(kinds)
    first, second = (store.resolve(run, commands=COMPARED) for run in pair)
    for run in (first, second):
        store.refuse_changed(run, is_shown=_is_shown)
    before, after = ({one["name"]: one for one in store.result(run)["tables"]} for run in (first, second))
    common = [name for name in after if name in before]
    unknown = sorted(set(tables) - set(common))
    if unknown or not common:
        what = f"no table {', '.join(unknown)}" if unknown else "no table"
        fix = f"use one of {', '.join(common)}" if common else "choose other runs: hudi-reconcile history"
        raise UsageError(f"runs {first} and {second} have {what} in common", fix=fix)

    def findings(run: str, table: Document) -> Iterator[tuple[str, str]]:
        counts = {**table["findings"], **table["not_drift"]}
        found = read_findings(store.findings_dir(run, table["name"]), counts, kinds=wanted)
        return ((one.kind, one.line) for one in found)

    def table_diff(name: str) -> TableDiff:
        ours, theirs = before[name], after[name]
        return TableDiff(
            name,
            lambda: changes_between(lambda: findings(first, ours), findings(second, theirs)),
            tuple(f"{run} did not compare all of {name}: {_LESS[side]}" for side, run, one in
                  (("before", first, ours), ("after", second, theirs)) if not compared_whole(one)),
        )  # fmt: skip

    alone = [f"{name} is in {run} only" for run, mine, other in ((first, before, after), (second, after, before))
             for name in mine if name not in other and not tables]  # fmt: skip
    chosen = [name for name in common if not tables or name in tables]
    return RunDiff((first, second), tuple(map(table_diff, chosen)), tuple(alone))


def _is_shown(name: str) -> bool:
    return name == RESULT_FILE or f"/{FINDINGS_FOLDER}/" in name


_LESS = {
    "before": "what was gained may have been there before",
    "after": "what was lost may be there still",
}
