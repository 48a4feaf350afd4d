"""The corrective plan as a value: what apply would do, what must still hold, and an id that is the hash of all of it.

The corrections themselves are rows and stay in the run's findings files; the plan binds those files by their sha256.
What apply does with it stands in `core/plan/steps.py`, once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Literal

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.result_parts import Guard

VERSION = 1
EXPIRES_AFTER_MICROS = 24 * 3600 * 1_000_000
# Between the clocks of two hosts that sweep and apply; beyond it the plan's time was not read from a clock.
CLOCK_SKEW_MICROS = 5 * 60 * 1_000_000
_LAST_MICROS = 253_402_300_799_999_999  # the end of the year 9999: no later time has a text
MAX_AGE = "max_age_micros"
SCHEMA = "schema"
# What a plan of some partitions or segments was made of, in words, and the partitions as a JSON list; a plan of the whole
# table has neither.
PART = "part"
PARTITIONS = "partitions"
WHERE, TIMELINE, POSITION = "source_where", "source_timeline", "source_position"


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something that must hold at apply, as it was when the plan was made."""

    name: str
    expected: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All that apply needs to know of one table's corrections, but for the rows."""

    run_id: str
    table: str
    created_micros: int
    lake_path: str
    lake_instant: str
    source_identity: str
    source_snapshot: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    segmentation: Mapping[str, Any]
    by_kind: Mapping[str, int]
    upserts: int
    deletes: int
    guards: tuple[Guard, ...]
    requirements: tuple[Requirement, ...]
    files: Mapping[str, str]

    @property
    def plan_id(self) -> str:
        """sha256 of the plan's canonical bytes."""
        return sha256(write_canonical_bytes(plan_body(self))).hexdigest()

    def find_requirement(self, name: str) -> str | None:
        """What a requirement expects; None where the plan does not name it."""
        return next((item.expected for item in self.requirements if item.name == name), None)

    @property
    def part(self) -> str | None:
        """Which part of the table was compared, in words; None where it was all of it."""
        return self.find_requirement(PART)

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions that the plan is about, as Hudi stores them; none where it is about all."""
        return tuple(json.loads(self.find_requirement(PARTITIONS) or "[]"))

    @property
    def max_age_micros(self) -> int:
        """How old the plan may be at apply: `policy.max_plan_age` when it was made, 24 hours where it does not say."""
        return int(self.find_requirement(MAX_AGE) or EXPIRES_AFTER_MICROS)

    @property
    def expires_micros(self) -> int:
        """When the plan is too old to be applied."""
        return self.created_micros + self.max_age_micros


@dataclass(frozen=True, slots=True)
class Approval:
    """What the operator said: which part of the plan, how many deletes were looked at, what is meant in spite of a guard.

    `dead_writers` are instants in flight whose writers are known to be dead.
    """

    only: Literal["upsert", "delete"] | None = None
    approve_deletes: int | None = None
    allow_empty_source: bool = False
    accept: frozenset[str] = frozenset()
    dead_writers: frozenset[str] = frozenset()


def refuse_future(plan: Plan, now_micros: int) -> None:
    """Raises RefusedError for a plan made more than five minutes ahead of the clock: it would outlive every limit of age."""
    if plan.created_micros > now_micros + CLOCK_SKEW_MICROS:
        ahead = (plan.created_micros - now_micros) // 60_000_000
        raise RefusedError(
            f"table {plan.table}: the plan of run {plan.run_id} says that it was made {ahead} minutes from now",
            fix=f"set the clocks of both hosts; look: hudi-reconcile audit verify; then: hudi-reconcile sweep -t {plan.table}",
        )


def build_part_requirements(part: str | None, partitions: tuple[str, ...]) -> tuple[Requirement, ...]:
    """What a plan of a part of a table says of it."""
    named = (Requirement(PARTITIONS, json.dumps(list(partitions), ensure_ascii=False)),) if partitions else ()
    return () if part is None else (Requirement(PART, part), *named)


def parse(document: Mapping[str, Any]) -> Plan:
    """The plan of a `plan.json`. Raises RefusedError for another version, or where a byte of it was changed."""
    if document.get("version") != VERSION:
        raise RefusedError(
            f"plan.json is version {document.get('version')!r}, this tool reads {VERSION}",
            fix="sweep again with this version",
        )
    try:
        plan = Plan(
            run_id=document["run_id"],
            table=document["table"],
            created_micros=document["created_micros"],
            lake_path=document["lake"]["path"],
            lake_instant=document["lake"]["instant"],
            source_identity=document["source"]["identity"],
            source_snapshot=document["source"]["snapshot"],
            key=tuple(document["key"]),
            columns=tuple(document["columns"]),
            segmentation=document["segmentation"],
            by_kind=document["by_kind"],
            upserts=document["upserts"],
            deletes=document["deletes"],
            guards=tuple(Guard(**guard) for guard in document["guards"]),
            requirements=tuple(Requirement(**item) for item in document["requirements"]),
            files=document["files"],
        )
        _check_types(plan)
        plan_id = plan.plan_id
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise RefusedError("plan.json was changed: a field is missing or odd", fix="sweep again") from error
    if plan_id != document.get("plan_id"):
        raise RefusedError(
            f"plan.json was changed: it hashes to {plan_id[:12]}, it says {str(document.get('plan_id'))[:12]}",
            fix="sweep again; plans are not edited by hand",
        )
    return plan


def write_canonical_bytes(value: Any) -> bytes:
    """JSON with sorted keys and no blanks, UTF-8: the same value always gives the same bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _check_types(plan: Plan) -> None:
    """Raises TypeError or ValueError for a field that no sweep writes so: what shows or applies a plan relies on each."""
    texts = (plan.run_id, plan.table, plan.lake_path, plan.lake_instant, plan.source_identity, plan.source_snapshot)
    named = [text for requirement in plan.requirements for text in (requirement.name, requirement.expected)]
    judged = [text for guard in plan.guards for text in (guard.name, guard.fix)]
    files = [text for pair in dict(plan.files).items() for text in pair]
    if not all(type(text) is str for text in (*texts, *plan.key, *plan.columns, *named, *judged, *files)):
        raise TypeError("text")
    counts = (plan.created_micros, plan.upserts, plan.deletes, *dict(plan.by_kind).values())
    if not all(type(count) is int and 0 <= count <= _LAST_MICROS for count in counts):
        raise TypeError("count")
    numbers = [number for guard in plan.guards for number in (guard.limit, guard.found)]
    if not all(type(number) in (int, float, str) for number in numbers) or any(
        type(guard.ok) is not bool for guard in plan.guards
    ):
        raise TypeError("guard")
    if not all(type(partition) is str for partition in plan.partitions) or not 0 <= plan.max_age_micros <= _LAST_MICROS:
        raise ValueError("requirement")
    if plan.expires_micros > _LAST_MICROS:
        raise ValueError("time")
    dict(plan.segmentation)


def plan_body(plan: Plan) -> dict[str, Any]:
    """What the plan's id is the hash of."""
    return {
        "run_id": plan.run_id,
        "table": plan.table,
        "created_micros": plan.created_micros,
        "lake": {"path": plan.lake_path, "instant": plan.lake_instant},
        "source": {"identity": plan.source_identity, "snapshot": plan.source_snapshot},
        "key": list(plan.key),
        "columns": list(plan.columns),
        "segmentation": dict(plan.segmentation),
        "by_kind": dict(plan.by_kind),
        "upserts": plan.upserts,
        "deletes": plan.deletes,
        "guards": [asdict(guard) for guard in plan.guards],
        "requirements": [asdict(item) for item in plan.requirements],
        "files": dict(plan.files),
    }
