"""The files of runs held against what the audit log has of them, before anybody is shown or acts on them. Reads only.

Where no line names a run and the log is whole, such as beside a folder that was copied by itself, nothing is held.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.evidence.chain import Link, links
from hudi_reconcile.evidence.files import file_sha256
from hudi_reconcile.evidence.names import AUDIT_FILE, RESULT_FILE
from hudi_reconcile.evidence.store import Store

_LOOK = "hudi-reconcile audit verify"


@dataclass(frozen=True, slots=True)
class LoggedResults:
    """What the log has of each run's `result.json`: None for a line that is not as it was written. `is_flawed`: any line is."""

    hashes: Mapping[str, tuple[object, ...]]
    is_flawed: bool

    def doubt(self, run_id: str, path: Path) -> str:
        """Why a run's `result.json` is not to be believed; nothing where it is what the log has, or is not there."""
        own = self.hashes.get(run_id)
        if own is None:
            return f"no line of the audit log names it, and the log was edited: {_LOOK}" if self.is_flawed else ""
        if None in own:
            return f"its line in the audit log was edited: {_LOOK}"
        changed = path.exists() and own != (file_sha256(path),)
        return f"its files were changed since: {_LOOK}" if changed else ""


def logged_results(store: Store) -> LoggedResults:
    """The log read once, for commands that show many runs."""
    hashes: dict[str, tuple[object, ...]] = defaultdict(tuple)
    is_flawed = False
    for link, is_as_written in _proven(store):
        is_flawed |= bool(link.flaws)
        if (run_id := value_of(link, "run_id")) is not None:
            hashes[str(run_id)] += (logged_hash(link, RESULT_FILE) if is_as_written else None,)
    return LoggedResults(dict(hashes), is_flawed)


def refuse_changed(store: Store, run_id: str, *, is_shown: Callable[[str], bool]) -> None:
    """Hold the files of a run that a command shows against the run's line. `is_shown` takes a name inside the run's folder.

    Raises RefusedError where one was changed, added or removed, or the line was edited.
    """
    own, is_doubtful = lines_of(store, run_id)
    if is_doubtful:
        raise RefusedError(f"run {run_id} cannot be trusted: the audit log was edited", fix=f"look: {_LOOK}")
    if not own:
        return
    folder = store.reports / run_id
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    logged = {name for link in own for name in _files(link)}
    for name in sorted(filter(is_shown, there | logged)):
        found = [file_sha256(folder / name)] if name in there else []
        if [logged_hash(link, name) for link in own] != found:
            raise RefusedError(
                f"{name} of run {run_id} was changed since: it is not what the audit log has of it",
                fix=f"look: {_LOOK}",
            )


def lines_of(store: Store, run_id: str) -> tuple[list[Link], bool]:
    """The lines of a run, and whether they are in doubt: one is not as it was written, or there is none and any has a flaw.

    The next line tells by the hash that it names. Flaws elsewhere say nothing of a line that is proven so.
    """
    own: list[Link] = []
    is_flawed = is_edited = False
    for link, is_as_written in _proven(store):
        is_flawed |= bool(link.flaws)
        if value_of(link, "run_id") == run_id:
            own.append(link)
            is_edited |= not is_as_written
    return own, is_edited if own else is_flawed


def logged_hash(link: Link, name: str) -> object:
    """The sha256 that a line has of a file of its run."""
    return _files(link).get(name)


def value_of(link: Link, name: str) -> object:
    """A field of a line; None where it is no record or has none."""
    return None if link.record is None else link.record.get(name)


def _files(link: Link) -> Mapping[str, object]:
    files = value_of(link, "files")
    return files if isinstance(files, dict) else {}


def _proven(store: Store) -> Iterator[tuple[Link, bool]]:
    """Every line, and whether it is as it was written: by its own hash and seal, and by the line after it."""
    before: Link | None = None
    for link in _whole(store):
        if before is not None:
            yield before, before.is_genuine and value_of(link, "previous") == value_of(before, "hash")
        before = link
    if before is not None:
        yield before, before.is_genuine


def _whole(store: Store) -> Iterator[Link]:
    """The log without a last line that a crash cut off: the next run removes it."""
    return (one for one in links(store.reports / AUDIT_FILE, store.keys) if one.record is not None or one.is_whole)
