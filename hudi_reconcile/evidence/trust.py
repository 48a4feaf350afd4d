"""What the audit log has of each run, and whether a run, a plan or an approval is to be believed by that. Reads only.

With a key a run counts only by a line that somebody with the key wrote: a log that was cut, deleted or written anew has
none. Lines from before the log had its key count up to the head that the config names (`audit.unsealed_head`): their chain
leads there. Whoever could write the folder then could write all of them anew, so nothing in the folder itself can prove
them. Without a key there is the chain alone, which anybody can write: it tells accidents and slips, and a run by itself is
taken.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.result_parts import Approved
from hudi_reconcile.evidence.audit_log import (
    NO_KEYS,
    KeyRing,
    Link,
    Record,
    build_missing_key_error,
    parse_line,
    read_links,
)
from hudi_reconcile.evidence.files import EvidenceError, hash_file, open_regular, read_owned
from hudi_reconcile.evidence.run_folder import AUDIT_FILE, PURGE, RESULT_FILE

LOOK = "hudi-reconcile audit verify"
CHANGED = "its files were changed since"
_COPY = "a folder that was copied needs the audit.jsonl of where it came from beside it"


class UntrustedError(RefusedError):
    """A run, plan or approval is not what the audit log has of it, or has no line that proves it. `doubt` is why, in short."""

    def __init__(self, message: str, doubt: str, fix: str = f"look: {LOOK}") -> None:
        super().__init__(message, fix=fix)
        self.doubt = doubt


@dataclass(frozen=True, slots=True)
class RunLine:
    """One line of a run: what it says of the run, and why it is not to be believed (nothing: it is)."""

    number: int
    command: str
    tables: tuple[str, ...]
    files: Mapping[str, object]
    doubt: str


@dataclass(frozen=True, slots=True)
class Log:
    """The whole log. `newest` is the greatest run id that it names, empty for none; `is_flawed`: any line has a flaw.

    `purged` are the runs that a later line says were removed.
    """

    runs: Mapping[str, tuple[RunLine, ...]]
    purged: Collection[str] = frozenset()
    newest: str = ""
    is_flawed: bool = False
    is_keyed: bool = False

    def doubt(self, run_id: str) -> str:
        """Why a run is not to be believed; nothing where it is."""
        own = self.runs.get(run_id, ())
        if own:
            return next((line.doubt for line in own if line.doubt), "")
        if self.is_flawed:
            return "no line names it, and the audit log was edited"
        if self.is_keyed:
            return f"no line of the audit log names it, and there is a key (audit.key): the log was cut, or {_COPY}"
        if self.newest and run_id > self.newest:
            return f"no line of the audit log names it, and the log ends before it: its end was cut off, or {_COPY}"
        return ""

    def doubt_to_act(self, there: Collection[str]) -> str:
        """Why nobody should act on a run that no line names; nothing where it was copied by itself. `there` are all runs."""
        lost = not self.newest and len(there) > 1
        return f"other runs are there, and no audit log that names any: it was removed, or {_COPY}" if lost else ""

    def differs(self, run_id: str, name: str, sha256: str | None) -> bool:
        """True where lines name the run, and a file of it (None: not there) is not what each of them has of it."""
        own = self.runs.get(run_id, ())
        return bool(own) and [line.files.get(name) for line in own] != [sha256]

    def files(self, run_id: str) -> Collection[str]:
        """The names of all files that lines of the run name."""
        return {name for line in self.runs.get(run_id, ()) for name in line.files}


def read_log(path: Path, keys: KeyRing) -> Log:
    """The log as it is now; a last line that a crash cut off is left out: the next run removes it."""
    runs: dict[str, tuple[RunLine, ...]] = {}
    newest, is_flawed = "", False
    purged: set[str] = set()
    for link, doubt in _judge_lines(path, keys):
        is_flawed |= bool(link.flaws)
        # A purge of before the key is no proof, but neither are the lines of the runs that it names.
        if not doubt or (link.sealed_by is None and not link.flaws):
            purged.update(_list_purged(link.record or {}))
        run_id = None if link.record is None else link.record.get("run_id")
        if link.record is not None and isinstance(run_id, str):
            runs[run_id] = (*runs.get(run_id, ()), _run_line(link, doubt))
            newest = max(newest, run_id)
            purged.discard(run_id)  # a purge names runs of lines before it
    return Log(runs, purged, newest, is_flawed, keys != NO_KEYS)


@dataclass(slots=True)
class LogReader:
    """The log of one folder, read again only where its file is another: commands that show ten thousand runs read it once."""

    path: Path
    keys: KeyRing
    _read: tuple[tuple[int, ...], Log] | None = field(default=None, init=False)

    def read_now(self) -> Log:
        """The log as it is now. Raises EvidenceError where its file is a link or cannot be read."""
        stamp = self._stamp()
        if self._read is None or self._read[0] != stamp:
            self._read = (stamp, read_log(self.path, self.keys))
        return self._read[1]

    def _stamp(self) -> tuple[int, ...]:
        # Opened and asked: a mounted folder brings what it knows of a file up to date when that is opened, and not before.
        try:
            descriptor = open_regular(self.path)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise EvidenceError(
                f"{self.path} cannot be read: {error.strerror}", fix="make it readable and run the command again"
            ) from error
        status = os.fstat(descriptor)
        os.close(descriptor)
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def prove_unsealed_lines(path: Path, keys: KeyRing) -> frozenset[int]:
    """The numbers of the unsealed lines whose chain leads to the head that the config names."""
    chain: list[int] = []
    previous = None
    for link in read_links(path, keys):
        if link.record is None or link.sealed_by is not None or not link.is_genuine:
            chain, previous = [], None
            continue
        if link.record.get("previous") != previous:
            chain = []
        chain.append(link.number)
        previous = link.record.get("hash")
        if previous == keys.unsealed_head:
            return frozenset(chain)
    return frozenset()


# Helpers


def _judge_lines(path: Path, keys: KeyRing) -> Iterator[tuple[Link, str]]:
    """Every line, and why it is not to be believed: by its own hash and seal, and by the line after it."""
    before_key = prove_unsealed_lines(path, keys) if keys.unsealed_head is not None else frozenset[int]()
    before: Link | None = None
    for link in (line for line in read_links(path, keys) if line.record is not None or line.is_whole):
        if before is not None:
            is_followed = link.record is not None and link.record.get("previous") == _hash(before)
            yield before, _doubt(before, keys, before_key, is_followed=is_followed)
        before = link
    if before is not None:
        yield before, _doubt(before, keys, before_key, is_followed=True)


def _doubt(link: Link, keys: KeyRing, before_key: Collection[int], *, is_followed: bool) -> str:
    if not (link.is_genuine and is_followed):
        return "its line in the audit log was edited"
    if keys == NO_KEYS:
        return ""
    if link.unchecked:
        return f"its line in the audit log is sealed with key {str(link.sealed_by)[:16]}, which is not the one given"
    if link.sealed_by is None and link.number not in before_key:
        return (
            "its line in the audit log is not sealed: it is from before there was a key (name the log's last head of then:"
            " audit.unsealed_head), or forged"
        )
    return ""


def _list_purged(record: Record) -> list[str]:
    """The runs that a line says were removed; none where it is no purge's."""
    gone = record.get("purged") if record.get("command") == PURGE else None
    return [str(entry.get("run_id")) for entry in gone if isinstance(entry, dict)] if isinstance(gone, list) else []


def _hash(link: Link) -> object:
    return None if link.record is None else link.record.get("hash")


def _run_line(link: Link, doubt: str) -> RunLine:
    record = link.record or {}
    files, tables = record.get("files"), record.get("tables")
    named = [table.get("name") for table in tables if isinstance(table, dict)] if isinstance(tables, list) else []
    return RunLine(
        link.number, str(record.get("command")), tuple(map(str, named)), files if isinstance(files, dict) else {}, doubt
    )


def read_trusted_records(reports: Path, keys: KeyRing = NO_KEYS) -> list[Record]:
    """Every record that counts, oldest first, once the whole log was read.

    With a key those that nothing seals do not count, but for those of before the key, up to `audit.unsealed_head`.

    Raises:
        RefusedError: a line was edited, removed, moved or forged, or the end is not sealed though there is a key, or with
            one that was replaced.
        AuditKeyError: a line is sealed with a key that was not given.
    """
    path, is_sealed, is_old = reports / AUDIT_FILE, True, False
    before_key = prove_unsealed_lines(path, keys) if keys.unsealed_head is not None else frozenset[int]()
    records: list[Record] = []
    for link in read_links(path, keys):
        if link.record is None and not link.is_whole:
            continue  # cut by a crash; the next run removes it
        if link.unchecked:
            raise build_missing_key_error(link.sealed_by, keys, f"line {link.number} of {path}")
        if link.flaws or link.record is None:
            raise _build_untrusted_error(f"line {link.number} of {path} is not as it was written")
        is_sealed = link.sealed_by is not None or link.number in before_key
        is_old = link.sealed_by is not None and not keys.is_current(link.sealed_by)
        if keys == NO_KEYS or is_sealed:
            records.append(link.record)
    if keys.current is not None and not is_sealed:
        raise _build_untrusted_error(f"the last line of {path} is not sealed though there is a key")
    if (
        keys.current is not None and is_old
    ):  # all of it could be by who has the old key; the next run seals with the new
        raise _build_untrusted_error(
            f"{path} ends with a line under a key that was replaced, and none is sealed with the new one yet"
        )
    return records


def refuse_edited(reports: Path, run_id: str, name: str, keys: KeyRing = NO_KEYS) -> None:
    """Hold one file of a run against its line in the log.

    Raises RefusedError where no line names it or it is not what the line says, and as `read_trusted_records`.
    """
    lines = [line for line in read_trusted_records(reports, keys) if line.get("run_id") == run_id]
    files = [line.get("files") for line in lines]
    hashes = [file_hashes.get(name) if isinstance(file_hashes, dict) else None for file_hashes in files]
    if hashes != [hash_file(reports / run_id / name)]:
        raise _build_untrusted_error(f"{reports / run_id / name} is not what the audit log has of it")


def _build_untrusted_error(what: str) -> RefusedError:
    return RefusedError(
        f"{what}: approvals cannot be trusted",
        fix="look at it: hudi-reconcile audit verify; then sweep and approve again",
    )


APPROVE = "approve"
_NAMES = {attribute.name: {"str": str, "int": int}[str(attribute.type)] for attribute in fields(Approved)}


def list_approvals(reports: Path, keys: KeyRing = NO_KEYS) -> Iterator[Approved]:
    """Every approval, oldest first, once the whole log was read.

    Raises as `read_trusted_records`: where a line is not as it was written nobody knows who approved what.
    """
    yield from (word for _, word in _words(reports, keys))


def list_misowned(reports: Path, keys: KeyRing = NO_KEYS) -> frozenset[Approved]:
    """Approvals that no file of the user whom they name says: files get the host's user id, whatever a namespace shows.

    Raises as `read_trusted_records`.
    """
    return frozenset(word for line, word in _words(reports, keys) if not _is_said(reports, line, word))


def is_own_sweep(reports: Path, run_id: str, uid: str) -> bool:
    """True where a run's result belongs to the user of this id (`1000@machine`)."""
    return _belongs(uid, read_owned(reports / run_id / RESULT_FILE)[1])


def _words(reports: Path, keys: KeyRing) -> Iterator[tuple[Record, Approved]]:
    for line in read_trusted_records(reports, keys):
        if line.get("command") == APPROVE:
            tables = line.get("tables")
            for table in tables if isinstance(tables, list) else ():
                said = table.get("approval") if isinstance(table, dict) else None
                yield line, _read_approval(said, reports / AUDIT_FILE)


def _is_said(reports: Path, line: Record, word: Approved) -> bool:
    # The file has to say it too: a line of the log, which belongs to nobody, may name another one of theirs.
    try:
        data, owner = read_owned(reports / str(line.get("run_id")) / RESULT_FILE)
    except (EvidenceError, OSError):
        return False
    files, document = line.get("files"), parse_line(data) or {}
    is_logged = isinstance(files, dict) and files.get(RESULT_FILE) == hashlib.sha256(data).hexdigest()
    tables = document.get("tables")
    said = [table.get("approval") for table in tables if isinstance(table, dict)] if isinstance(tables, list) else []
    return is_logged and asdict(word) in said and _belongs(word.uid, owner)


def _belongs(uid: str, owner: int) -> bool:
    return uid.partition("@")[0] == str(owner)


def _read_approval(said: object, path: Path) -> Approved:
    words = {"uid": "", **said} if isinstance(said, dict) else {}  # earlier versions did not write it
    if set(words) != set(_NAMES) or any(type(words[name]) is not kind for name, kind in _NAMES.items()):
        raise EvidenceError(f"{path} holds an approval of another version", fix="use the hudi-reconcile that wrote it")
    return Approved(**words)
