"""What the demo says, step by step, to somebody who sees the tool for the first time. Pure but for `tell`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_WHY = {
    "late_arriving": "in the source, not in the lake, and its updated_at is before the checkpoint",
    "updated_without_watermark": "the same updated_at on both sides, but other columns differ",
    "deleted": "in the lake, no longer in the source",
}


@dataclass(frozen=True, slots=True)
class Story:
    """Tells the steps in order; numbers come from the runs."""

    tell: Callable[[str], None]

    def shop(self, version: str, rows: int, folder: Path) -> None:
        """The database and the config are there."""
        self._step(
            "1. A shop",
            f"A PostgreSQL {version} of its own runs on 127.0.0.1 until the demo ends. It holds {rows:,} orders.",
            "reconcile.yaml says: follow the table public.orders, by its column updated_at, into a Hudi table.",
            f"All of it happens in {folder}",
        )

    def spark_starts(self) -> None:
        """Spark is about to start."""
        self._lines("Starting Spark. The first time ever it fetches the Hudi bundle (80 MB) and the JDBC driver.")

    def spark_runs(self, spark: str, java: str, seconds: float) -> None:
        """Spark is there."""
        self._lines(f"Spark {spark} on Java {java} was ready after {seconds:.0f} s.")

    def tell_open_till(self, order: int) -> None:
        """The transaction that will commit late is open."""
        self._step(
            "2. The first pull",
            f"A till stores order {order:,} with the time of its sale, 5 minutes ago. Its transaction stays open.",
            "Nobody else can see that order yet. Now, at this very moment:",
            "$ hudi-reconcile pull",
        )

    def tell_pull(self, rows: int, checkpoint: str | None) -> None:
        """The first pull is done."""
        self._lines(
            f"{rows:,} rows went into a new Hudi table, and with them, in the same commit, the checkpoint:",
            f"updated_at {checkpoint}. The next pull asks for what changed after it.",
        )

    def tell_drift(self, late: int, silent: Sequence[int], deleted: Sequence[int], ordinary: int) -> None:
        """All drift is planted."""
        self._step(
            "3. Life goes on at the shop",
            f"The till commits: order {late:,} appears, with an updated_at from before the checkpoint.",
            f"Somebody refunds {len(silent)} orders by hand and leaves updated_at as it was: {_list_orders(silent)}.",
            f"Somebody deletes {len(deleted)} orders: {_list_orders(deleted)}.",
            f"And one ordinary order comes in: {ordinary:,}.",
        )

    def tell_second_pull(self, ordinary: int) -> None:
        """The second pull is done."""
        self._step(
            "4. The next pull",
            "$ hudi-reconcile pull",
            f"1 row: order {ordinary:,}. The other 9 changes are not newer than the checkpoint, or leave no row to read.",
            "No later pull will bring them either. The lake is wrong, and nothing has complained.",
        )

    def tell_sweep(self, sides: Mapping[str, int], kinds: Mapping[str, int], plan: str) -> None:
        """The sweep is done and the plan is there."""
        self._step(
            "5. The sweep",
            "$ hudi-reconcile sweep",
            f"Source {sides['source']:,} rows, lake {sides['lake']:,} rows. Every row was compared, and what differed was",
            f"read a second time. {sum(kinds.values())} rows have drifted:",
            *(f"  {count}  {kind:<27}{_WHY[kind]}" for kind, count in kinds.items() if count),
            "The lake was only read. The sweep left findings, a report, and a plan:",
        )
        self.tell("")
        self._lines("$ hudi-reconcile plan latest", *(f"  {line}" if line else "" for line in plan.splitlines()))

    def tell_apply(self, upserts: int, deletes: int, instants: Sequence[str]) -> None:
        """The plan is carried out."""
        self._step(
            "6. The repair",
            "$ hudi-reconcile apply latest --yes",
            f"{upserts} rows written and {deletes} deleted in one Hudi commit ({', '.join(instants)}), and only because",
            "neither side had changed them since the sweep. Read back, and compared again: equal.",
        )

    def tell_proof(self, rows: int) -> None:
        """The second sweep is clean."""
        self._step(
            "7. The proof", "$ hudi-reconcile sweep", f"Clean: {rows:,} rows on both sides, and not one differs."
        )

    def end(self, seconds: float, folder: Path | None, reports: Sequence[tuple[str, str, Path]]) -> None:
        """Where to look; the reports come last."""
        self._step("Done", f"The demo took {seconds:.0f} s. Its database is gone.")
        if folder is not None:
            self._lines(f"Config, Hudi table and runs are in {folder}; there, try: hudi-reconcile history")
        self._lines("For a database of your own: hudi-reconcile init")
        self.tell("")
        self._lines("The reports, each one page to open in a browser:")
        self._lines(*(f"  {f'{command}: {outcome}':<18}{path}" for command, outcome, path in reports))

    def _step(self, title: str, *lines: str) -> None:
        self.tell(f"\n{title}")
        self._lines(*lines)

    def _lines(self, *lines: str) -> None:
        for line in lines:
            self.tell(f"   {line}".rstrip())


def _list_orders(orders: Sequence[int]) -> str:
    return ", ".join(f"{order:,}" for order in orders)
