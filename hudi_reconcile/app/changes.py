"""`changes`: what changed in one table between two instants. Opens Spark and the lake; never the source, and writes nothing."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from hudi_reconcile.app.connections import find_trusted_roots, request_session
from hudi_reconcile.app.jobs import LakeMasks, derive_lake_masks
from hudi_reconcile.app.store import open_store
from hudi_reconcile.changefeed.postgres_sink import PostgresTarget
from hudi_reconcile.changefeed.query import (
    Findings,
    add_provenance,
    answer_query,
    count_by_commit,
    find_keys_among,
    list_rows,
    pair_images,
    print_lines,
    print_rows,
    read_log,
    save_changes,
    select_chunk,
    select_touched,
    show_frame,
)
from hudi_reconcile.config.load import load_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.paths import resolve_lake_path
from hudi_reconcile.config.tables import TableConfig, build_default_table
from hudi_reconcile.core.changes.consumers import Chunk, name_delivery_options
from hudi_reconcile.core.changes.queries import (
    LOG_READERS,
    QUERY_TYPES,
    Envelope,
    LogReader,
    QueryType,
    read_correction_origin,
)
from hudi_reconcile.core.changes.range import EARLIEST, LATEST, Commit, Span, is_shorter, read_instant, select_span
from hudi_reconcile.core.errors import LakeError, UsageError
from hudi_reconcile.core.tables.values import LakeTable
from hudi_reconcile.evidence.run_folder import is_run_id
from hudi_reconcile.evidence.trust import UntrustedError
from hudi_reconcile.lake.changes.history import HudiHistory
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.reads import redact_failures
from hudi_reconcile.ports import Frame
from hudi_reconcile.spark.session import Session, SessionRequest, open_session, start_session

FEW_BYTES = (
    64 << 20
)  # on disk: rows of so many files are moved as they are, and those of more only once they are known to count
Merge = Literal["skip_merge", "payload_combine"]


@dataclass(frozen=True, slots=True)
class ChangeQuery:
    """A change query as it was asked. `merge` asks for Hudi's own rows instead, merged or as they lie in the files.

    `reader` says what to tell changes from, where None leaves that to their cost. `soft_deletes` is the rule by which rows
    count as deleted though they are there.
    """

    table: TableConfig
    kind: QueryType
    start: str = EARLIEST
    end: str = LATEST
    corrections_only: bool = False
    merge: Merge | None = None
    reader: LogReader | None = None
    soft_deletes: str | None = None
    check_keys: bool = False
    by_key: bool = False  # whoever takes the answer finds rows by the columns of the lake's key
    in_utc: bool = False  # an end of the range was given as a time, which is UTC, and not as an instant of the table

    @property
    def fed(self) -> str:
        """What a consumer of it is fed with."""
        return name_delivery_options(
            self.kind, corrections_only=self.corrections_only, merge=self.merge, soft_deletes=self.soft_deletes
        )

    @staticmethod
    def of(table: TableConfig, kind: QueryType, start: str, end: str) -> ChangeQuery:
        """The query, its ends checked before Spark is started. Raises UsageError for what is no instant."""
        ends = read_instant(start, "--from"), read_instant(end, "--to")
        return ChangeQuery(table, kind, *ends, in_utc=ends != (start.strip(), end.strip()))


@dataclass(frozen=True, slots=True)
class Answered:
    """Rows `n`, `op`, `key`, `before`, `after`, `instant`, `correction`; the range they are of; what the reader must know.

    `masks` hide what `lines` shows, and nothing else.
    """

    rows: Frame
    span: Span
    notes: tuple[str, ...]
    masks: LakeMasks
    table: LakeTable
    mask_key: bytes = field(default_factory=partial(secrets.token_bytes, 32), repr=False)

    def lines(self, envelope: Envelope | None = None) -> Iterator[str]:
        """The answer as JSON texts, ordered by instant, with masked columns hidden; while Spark is open.

        With an `envelope` as Debezium's events, else as our own lines.
        """
        return print_lines(self.rows, self.masks.build_masks(self.mask_key), envelope)

    def counts(self) -> tuple[int, ...]:
        """How many changes there are of each commit."""
        return count_by_commit(self.rows, len(self.span.commits))

    def part(self, chunk: Chunk, *, is_first: bool) -> Answered:
        """One chunk of the answer; what the reader must know is said with the first."""
        return replace(self, rows=select_chunk(self.rows, chunk), notes=self.notes if is_first else ())

    def save(self, folder: str) -> None:
        """Write the rows as Parquet into `folder/after=<instant>/upto=<instant>`, in place of what the same range left there."""
        path = resolve_lake_path(folder, Path.cwd())
        save_changes(
            self.rows, f"{path.rstrip('/')}/after={self.span.after or EARLIEST}/upto={self.span.upto or EARLIEST}"
        )

    def apply(self, target: PostgresTarget) -> int:
        """Bring a table of another database in step, in one transaction; returns how many keys changed."""
        columns = {column.name: column.type for column in self.table.columns}
        return target.apply(print_rows(self.rows, list(columns)), columns, self.table.record_key)


Deliver = Callable[[Answered], None]
TargetTable = PostgresTarget


def parse_target(url: str, table: str, *, insecure: bool) -> PostgresTarget:
    """The table that is kept in step. Raises UsageError for a URL with a password, and for a server that nobody would verify."""
    target = PostgresTarget(url, table, insecure, find_trusted_roots())
    _ = target.transport
    return target


def query(config: Config | None, asked: ChangeQuery, deliver: Deliver) -> None:
    """Answer one query and hand it over while Spark is open. `config` is None where only the table's path is known."""
    with open_session(build_request(config)) as session:
        deliver(ask(config, asked, session))


def choose_table(name: str | None, path: str | None) -> str | TableConfig:
    """The name of a table in a config, or the table at a path. Raises UsageError where it is not one of both."""
    if (name is None) == (path is None):
        raise UsageError(
            "which table: by its name in a config (-t T, `table`) or by its path (--path TABLE, `path`), one of both",
            fix="-t T, or --path TABLE",
        )
    return build_default_table(path, Path.cwd()) if path is not None else str(name)


def answer_changes(
    table: str | None,
    path: str | None,
    kind: str | None,
    config: object,
    further: Mapping[str, Any],
) -> object:
    """`hudi_reconcile.changes`: the answer as a frame, in the running Spark or in one that is started for it and stays."""
    query_config, asked = choose_query(table, path, kind, config, further)
    return show_frame(ask(query_config, asked, start_session(build_request(query_config))).rows)


def choose_query(
    name: str | None, path: str | None, kind: str | None, config: Any, further: Mapping[str, Any]
) -> tuple[Config | None, ChangeQuery]:
    """A query as programs ask it, of a table by its name in a config (a path, a project, a config) or by its path.

    `further` are `from_`, `to` and fields of the query. Raises UsageError for what is none.
    """
    table = choose_table(name, path)
    known = next((query_type for query_type in QUERY_TYPES if query_type == kind), None)
    if known is None:
        raise UsageError(f"there is no change query {kind!r}", fix=f"type is one of {', '.join(QUERY_TYPES)}")
    if further.get("reader") not in (None, *LOG_READERS):
        raise UsageError(f"there is no reader {further['reader']!r}", fix=f"reader is one of {', '.join(LOG_READERS)}")
    for name_of_end in ("from_", "to"):
        if not isinstance(further.get(name_of_end, ""), str):
            raise UsageError(
                f"{name_of_end} is {further[name_of_end]!r}, and no text",
                fix="pass an instant, an ISO time, 'earliest' or 'latest', or leave it out",
            )
    query_config: Config | None = None
    if isinstance(table, str):
        given = getattr(config, "config", config)
        query_config = given if isinstance(given, Config) else load_config(Path(given), os.environ)
        table = query_config.table(table)
    fields = {name: value for name, value in further.items() if name not in ("from_", "to")}
    start, end = further.get("from_", EARLIEST), further.get("to", LATEST)
    return query_config, replace(ChangeQuery.of(table, known, start, end), **fields)


def build_request(config: Config | None) -> SessionRequest:
    """The session that change queries need: of the config, or of none."""
    return replace(SessionRequest() if config is None else request_session(config), short=True)


def ask(config: Config | None, asked: ChangeQuery, session: Session) -> Answered:
    """Answer the query, materialised.

    Raises UsageError where it cannot be answered exactly: history that is gone, keys that are there twice; and where it is to be
    told from a change log that there is none of, or that does not tell it.
    """
    history = HudiHistory(session.spark, asked.table.lake.path, asked.soft_deletes)
    _refuse_unanswerable(asked, history.table)
    commits = history.commits()
    span = select_span(asked.start, asked.end, commits, history.cut(commits))
    try:
        with redact_failures(asked.table.lake.path):
            frame = _answer(asked, history, span)
            doubled = _notes_of_doubled(asked, history, span, frame)
    finally:
        # Others that were at work meanwhile may have taken or changed what was being read, with or without an error.
        meanwhile = history.look_at_others()
        select_span(asked.start, asked.end, commits, meanwhile.cut())
        meanwhile.check_undisturbed(span.commits)
    zone_notes = _notes_of_zone(asked, meanwhile.zone(Files(session.spark, asked.table.lake.path)))
    folders, notes = _findings(config, asked.table, span.commits)
    names = {lake: source for source, lake in asked.table.compare.rename.items()}
    findings = Findings(folders, [names.get(name, name) for name in history.table.record_key])
    rows = add_provenance(frame, span.commits, findings, corrections_only=asked.corrections_only)
    return Answered(
        rows,
        span,
        (*span.notes, *zone_notes, *doubled, *notes),
        derive_lake_masks(asked.table, history.table),
        history.table,
    )


def _notes_of_zone(asked: ChangeQuery, ahead_minutes: int) -> tuple[str, ...]:
    """What a reader of a table in another zone must know. Raises UsageError for an end in UTC, which would be misread there."""
    if not ahead_minutes:
        return ()
    sign, (hours, minutes) = "-" if ahead_minutes < 0 else "+", divmod(abs(ahead_minutes), 60)
    zone = f"UTC{sign}{hours:02d}:{minutes:02d}"
    if asked.in_utc:
        raise UsageError(
            f"table {asked.table.name}: its writers' JVM is in zone {zone}, as its instants are, and an ISO time is in UTC",
            fix="give --from and --to as Hudi's instants, as they are printed",
        )
    return (f"its writers' JVM is in zone {zone}: instants, and times made of them, are those of that zone's clock",)


_KEYS_NAMED = 5


def _notes_of_doubled(asked: ChangeQuery, history: HudiHistory, span: Span, frame: Frame) -> tuple[str, ...]:
    """Keys of the answer that other files hold as well. Those that the range's commits wrote twice are refused before."""
    if not (asked.check_keys and span.commits):
        return ()
    hidden = derive_lake_masks(asked.table, history.table).hidden
    most = 0 if any(name in hidden for name in history.table.record_key) else _KEYS_NAMED
    count, some = find_keys_among(frame, history.list_other_keys(span.commits), most)
    keys = f"{count} keys of this answer are" if count != 1 else "1 key of this answer is"
    where = f"{keys} in the table a second time, in files that no commit of the range wrote: sweep lists doubled keys"
    named = ", ".join([*some, *(["…"] if some and count > len(some) else [])])
    return (f"{where} ({named})" if named else where,) if count else ()


def _answer(asked: ChangeQuery, history: HudiHistory, span: Span) -> Frame:
    if asked.merge is not None:
        return history.read_raw(span, asked.merge)
    rows_only = asked.kind == "upsert" and history.can_list_alive(span.commits)
    log = _own_log(asked, history, span.commits, rows_only=rows_only)
    if log is None and rows_only:
        return list_rows(history.read_alive_upserts(span.commits), span.commits)
    kept = log is not None
    return answer_query(asked.kind, log or _log_of_files(history, span.commits), span.commits, is_kept=kept)


def change_log(history: HudiHistory, commits: Sequence[Commit]) -> Frame:
    """What the commits did: by Hudi's own log where that is shorter than the files and tells all of it, else by the files."""
    return _short_log(history, commits, rows_only=False) or _log_of_files(history, commits)


def _own_log(asked: ChangeQuery, history: HudiHistory, commits: Sequence[Commit], *, rows_only: bool) -> Frame | None:
    """Hudi's own change log where it is to be read. Raises UsageError where it must be read, and does not tell the commits."""
    if asked.reader == "files":
        return None
    log = _short_log(history, commits, rows_only=rows_only, at_any_cost=asked.reader == "log")
    if log is None and asked.reader == "log" and commits:
        raise UsageError(
            f"table {asked.table.name}: its change log does not tell these commits by itself. Those of copy_on_write tables with"
            " data_before_after do, where columns are the key, rows are merged whole, no file groups were replaced and the log"
            " has all that the commits counted",
            fix="leave --from-log out: the file versions tell the same changes",
        )
    return log


def _short_log(
    history: HudiHistory, commits: Sequence[Commit], *, rows_only: bool, at_any_cost: bool = False
) -> Frame | None:
    counted = history.list_log_counts(commits)
    if counted is None or not (at_any_cost or is_shorter(counted, commits, latest_only=rows_only)):
        return None
    try:
        with history.read_log(commits, counted) as changes:
            return None if changes is None else read_log(changes, history.table.record_key, counted)
    except LakeError:
        return None  # the files are read next; where they are gone too, that is the error


def _log_of_files(history: HudiHistory, commits: Sequence[Commit]) -> Frame:
    """From one reading of the files that the commits left where that tells it, else from two of each commit."""
    rows = history.read_touched(commits)
    if rows is None:
        rows = select_touched(history.versions(commits), few=history.bound_bytes(commits) <= FEW_BYTES)
    return pair_images(rows, commits)


def _refuse_unanswerable(asked: ChangeQuery, table: LakeTable) -> None:
    if asked.by_key and table.has_generated_keys:
        raise UsageError(
            f"{table.path} has no record key, so that no row of another table can be found by one",
            fix="deliver lines or Parquet instead: --format ndjson, or --into DIR",
        )
    if asked.reader == "log" and table.change_log is None:
        raise UsageError(
            f"table {asked.table.name}: {table.path} keeps no change log (hoodie.table.cdc.enabled), which --from-log reads",
            fix="leave --from-log out: the file versions tell the same changes; lake.cdc: true gives a new table one",
        )
    if asked.reader is not None and asked.merge is not None:
        raise UsageError("--merge gives Hudi's own rows, from neither a log nor versions", fix="leave one of them out")
    if asked.merge is not None and table.type != "merge_on_read":
        raise UsageError(
            f"table {asked.table.name} is {table.type}: --merge is for merge_on_read", fix="leave --merge out"
        )
    if asked.merge is not None and asked.kind != "upsert":
        raise UsageError(f"--merge reads rows as upsert does, not {asked.kind}", fix="--type upsert")


def _findings(
    config: Config | None, table: TableConfig, commits: tuple[Commit, ...]
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Folders of the findings that the range's corrections came from, by sweep run, and a note for each that is not used.

    Those that are gone, and those that are not what the audit log has of them, name no kind: what the lake tells is whole.
    """
    origins = (read_correction_origin(commit.labels) for commit in commits)
    sweeps = sorted({str(origin.sweep) for origin in origins if origin is not None and is_run_id(origin.sweep or "")})
    if config is None:
        return {}, ("without a config no run is known: corrections have no kind",) if sweeps else ()
    store, folders = open_store(config, os.environ), dict[str, str]()
    notes: list[str] = []
    for sweep in sweeps:
        folder = store.findings_dir(sweep, table.name)
        if not any(folder.glob("*.parquet")):
            notes.append(f"findings of run {sweep} are not in {config.reports}: its corrections have no kind")
            continue
        try:
            store.refuse_changed_findings(sweep, table.name)
            folders[sweep] = str(folder)
        except UntrustedError as error:
            notes.append(f"findings of run {sweep} are not used, its corrections have no kind: {error.message}")
    return folders, tuple(notes)
