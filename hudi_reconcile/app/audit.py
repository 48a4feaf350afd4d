"""`audit purge` and `audit lake`: old runs removed with a line in the log; commits of ours in each lake held against the log.

Purging reads files alone; `audit lake` opens Spark and the lakes. Neither asks a source.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

from hudi_reconcile.app.connections import hold_session, open_world
from hudi_reconcile.app.host import HostClock, find_actor, write_utc
from hudi_reconcile.app.run import Call
from hudi_reconcile.app.store import open_key_ring, open_store, read_key_ring
from hudi_reconcile.config.fields import format_duration
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.errors import RefusedError, UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.evidence.audit_log import FIRST_PREVIOUS, build_missing_key_error, read_links
from hudi_reconcile.evidence.copies import fetch_runs, find_place
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.purge import Old, find_old_runs, purge
from hudi_reconcile.evidence.run_folder import AUDIT_FILE
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.verify import Flaw, Verified, verify
from hudi_reconcile.lake.timeline import HEAD, KIND, PLAN, RUN, SWEEP, UNDO, Labelled, list_labelled_commits


@dataclass(frozen=True, slots=True)
class Purged:
    """What was found and, where `head` is set, removed; `head` is the log's after it."""

    old: Old
    older_than: timedelta
    before_utc: str
    head: str | None


def run_purge(config: Config, older_than: timedelta | None, *, do: bool) -> Purged:
    """Find the runs that began longer ago than this (None: than the config's retention), and remove them if `do`.

    Raises:
        UsageError: no age was given and the config has none.
        RefusedError: a legal hold, an age below the retention, or evidence that is not what it was.
    """
    age = _age(config, older_than)
    store, now = open_store(config, os.environ), HostClock().utc_micros()
    before = now - age // timedelta(microseconds=1)
    old = find_old_runs(store, before)
    head = None
    if do:
        who = find_actor(os.environ)
        facts = {
            "outcome": "purged",
            "exit_code": 0,
            "started_utc": write_utc(now),
            "ended_utc": write_utc(now),
            "by": who.name,
            "login": who.login,
            "uid": who.uid,
            "older_than": format_duration(age),
        }
        head = purge(store, old, facts)
    return Purged(old, age, write_utc(before), head)


def verify_copies(config: Config, published: str | None, key_file: Path | None) -> Verified:
    """As `audit verify`, of the copies in the store. Raises UsageError where the config names none."""
    if config.outputs.copy_to is None:
        raise UsageError("the config copies its runs nowhere", fix="outputs: {copy_to: s3://BUCKET/FOLDER}")
    keys = open_key_ring(config, os.environ) if key_file is None else read_key_ring(key_file)
    with TemporaryDirectory(prefix="hudi-reconcile-copies-") as folder:
        fetch_runs(find_place(config.outputs.copy_to), Path(folder))
        verification = verify(Path(folder), published, keys)
        for run_id in verification.purged:  # purged here, and kept there
            rmtree(Path(folder) / run_id, ignore_errors=True)
        return verify(Path(folder), published, keys) if verification.purged else verification


def _age(config: Config, older_than: timedelta | None) -> timedelta:
    retention = config.audit.retention
    if config.audit.hold:
        raise RefusedError("audit.hold is true: nothing is purged", fix="lift the hold in the config first")
    age = retention if older_than is None else older_than
    if age is None:
        raise UsageError(
            "how old is old? Neither --older-than nor audit.retention says",
            fix="for example: hudi-reconcile audit purge --older-than 365d",
        )
    if retention is not None and age < retention:
        raise RefusedError(
            f"audit.retention keeps runs for {format_duration(retention)}, and --older-than {format_duration(age)} is less",
            fix="name a longer time, or change audit.retention",
        )
    return age


_NO_LINE = "no line of the log names its run: it was killed before it could, logs elsewhere (`reports`), or the line was removed"
_NO_HEAD = "the log does not hold the head that it carries: lines were cut off or rewritten, or its run logs elsewhere"


@dataclass(frozen=True, slots=True)
class LakeCommit:
    """One commit, and where the log has it: `line` is its run's, `after_line` that of the head that it carries (0: an empty log).

    `instant` is the completion time. `plan` and `sweep` are those of an apply, `undoes` the run that an undo takes back.
    """

    table: str
    instant: str
    kind: str
    run_id: str
    plan: str | None
    sweep: str | None
    undoes: str | None
    audit_head: str | None
    line: int | None
    after_line: int | None
    flaws: tuple[str, ...]


def list_lake_commits(call: Call) -> tuple[LakeCommit, ...]:
    """Our commits of the call's tables that are not archived, newest first.

    Raises:
        EvidenceError: the log itself is not what it was; AuditKeyError where its key is missing.
        LakeError: a timeline cannot be read.
    """
    return _read_lakes(call, is_log_verified=False)[0]


def _read_lakes(call: Call, *, is_log_verified: bool) -> tuple[tuple[LakeCommit, ...], tuple[Flaw, ...]]:
    """The commits, and the tables that the log has writes of and that are not where the config says.

    `is_log_verified`: the log's own flaws are told elsewhere.
    """
    commits, missing = list[LakeCommit](), list[Flaw]()
    runs, heads, wrote = _log(open_store(call.config, os.environ), is_verified=is_log_verified)
    with open_world(call.config) as world, hold_session(world, expected_rows=0) as session:
        for table in call.tables:
            if world.edges(table).lake.look() is not None:
                labelled = list_labelled_commits(session.spark, table.lake.path)
                commits += [_commit(table.name, commit, runs, heads) for commit in labelled]
            elif table.name in wrote:
                what = f"table {table.name}: there is no lake table at {table.lake.path}, so none of its commits was checked"
                missing.append(Flaw(None, wrote[table.name], what))
    return tuple(commits), tuple(missing)


@dataclass(frozen=True, slots=True)
class LakeProof:
    """What the lakes say against the log, and how many commits were held against it."""

    flaws: tuple[Flaw, ...]
    commits: int


def prove_by_lake(call: Call) -> LakeProof:
    """What our commits in the lakes of the call's tables say against the log: lines that they name and that are not there.

    Each commit carries the head of the log when its run began: nobody who can write the reports folder alone can change that.
    """
    commits, missing = _read_lakes(call, is_log_verified=True)
    flaws = [
        Flaw(None, commit.run_id, f"table {commit.table}, commit {commit.instant}: {what}")
        for commit in commits
        for what in commit.flaws
    ]
    return LakeProof((*flaws, *missing), len(commits))


# Nothing ends so without a lake table.
_WRITTEN = frozenset(
    each.value for each in (Outcome.PULLED, Outcome.CORRECTED, Outcome.CLEAN, Outcome.DRIFT, Outcome.INCOMPLETE)
)


def _log(store: Store, *, is_verified: bool) -> tuple[Mapping[str, int], Mapping[str, int], Mapping[str, str]]:
    """The line of each run and of each head, and the last run that wrote each table; of genuine lines only."""
    runs, heads, wrote = dict[str, int](), {FIRST_PREVIOUS: 0}, dict[str, str]()
    for link in read_links(store.reports / AUDIT_FILE, store.keys):
        if link.unchecked:
            raise build_missing_key_error(
                link.sealed_by, store.keys, f"line {link.number} of {store.reports / AUDIT_FILE}"
            )
        if is_verified and not link.is_genuine:
            continue
        if not is_verified and (link.flaws or link.record is None):
            raise EvidenceError(
                f"line {link.number} of {store.reports / AUDIT_FILE} is not as it was written",
                fix="look at it: hudi-reconcile audit verify",
            )
        record = link.record or {}
        runs[str(record.get("run_id"))] = link.number
        heads[str(record.get("hash"))] = link.number
        tables = record.get("tables") or ()
        wrote |= {table["name"]: str(record.get("run_id")) for table in tables if table.get("outcome") in _WRITTEN}
    return runs, heads, wrote


def _commit(table: str, commit: Labelled, runs: Mapping[str, int], heads: Mapping[str, int]) -> LakeCommit:
    labels = commit.labels
    run_id, head = labels.get(RUN, ""), labels.get(HEAD)
    line, after = runs.get(run_id), None if head is None else heads.get(head)
    flaws = [_NO_LINE] * (line is None) + [_NO_HEAD] * (head is not None and after is None)
    plan = labels.get(PLAN)
    return LakeCommit(
        table,
        commit.instant.completed,
        labels[KIND],
        run_id,
        None if plan is None else plan.split(":")[0],
        labels.get(SWEEP),
        labels.get(UNDO),
        head,
        line,
        after,
        tuple(flaws),
    )
