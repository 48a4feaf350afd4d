"""The log of all runs, `<reports>/audit.jsonl`: one canonical JSON line a run, each holding the hash of the last.

A record's `hash` is the sha256 of the record's canonical JSON without `hash`; `previous` is the hash of the record before,
64 zeros in the first. Whoever edits, removes, reorders or adds a line, or changes a file that a line names, must rewrite
every later line. With a key that is no way out: `mac` is the HMAC-SHA256 of the record's canonical JSON without `hash` and
`mac`, `key_id` says by which key, and a line that is not sealed after one that is, or whose seal the key did not make, is a
flaw. A key that was replaced seals nothing after the first line of the one in its place: it may have leaked.

A key is known in the log by its id, a hash that says nothing of the key. The caller holds the store's lock around `append`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.evidence.files import MOST_BYTES, OWNERS_MODE, EvidenceError, let_in, open_regular, write_all


@dataclass(frozen=True, slots=True)
class Link:
    """One line, counted from 1. `record` is None where it is no JSON object; `is_whole` is False for one without line end.

    `sealed_by` is the id of the key that it says it is sealed with, `unchecked` whether that key was not given. `is_genuine`:
    its own text, hash and seal hold, whatever stands before it.
    """

    number: int
    record: Record | None
    flaws: tuple[str, ...]
    is_whole: bool
    sealed_by: str | None = None
    unchecked: bool = False
    is_genuine: bool = False


def read_links(path: Path, keys: KeyRing) -> Iterator[Link]:
    """Every line of the log, oldest first. A missing log has none."""
    previous, was_sealed, was_current = FIRST_PREVIOUS, False, False
    for number, line in enumerate(read_lines(path), start=1):
        is_whole = line.endswith(b"\n")
        record = parse_line(line)
        if record is None:
            yield Link(number, None, ("is no audit record: edited, or cut by a crash",), is_whole)
            continue
        seal = tuple(_seal_flaws(record, keys, was_sealed=was_sealed, was_current=was_current))
        is_as_told = record.get("hash") == record_hash(record) and line.removesuffix(b"\n") == write_canonical(record)
        flaws = (*_chain_flaws(record, line, (number, previous), is_as_told=is_as_told), *seal)
        is_genuine = not seal and is_as_told
        sealed_by = str(record["key_id"]) if "key_id" in record else None
        unchecked = sealed_by is not None and keys.find(sealed_by) is None
        yield Link(number, record, flaws, is_whole, sealed_by, unchecked, is_genuine)
        previous, was_sealed = str(record.get("hash")), was_sealed or sealed_by is not None
        was_current = was_current or (not seal and keys.is_current(sealed_by))


def _chain_flaws(record: Record, line: bytes, place: tuple[int, str], *, is_as_told: bool) -> Iterator[str]:
    """`place` is the line's number, and the hash of the line before."""
    number, previous = place
    if not is_as_told:
        yield "was edited: its hash is not that of what it says"
    elif not line.endswith(b"\n"):
        yield "has no line end: it was cut off after the line was written"
    if record.get("previous") != previous:
        yield "does not follow the line before: one was edited, removed, added or moved"
    if record.get("seq") != number:
        yield f"says that it is line {str(record.get('seq'))[:20]}"


def _seal_flaws(record: Record, keys: KeyRing, *, was_sealed: bool, was_current: bool) -> Iterator[str]:
    if "key_id" not in record:
        if was_sealed:
            yield "is not sealed, though lines before it are: written by somebody without the key"
        return
    key = keys.find(record["key_id"])
    if key is not None and not hmac.compare_digest(
        key.mac(write_sealed_text(record)).encode(), str(record.get("mac")).encode("utf-8", "replace")
    ):
        yield "was not sealed by the key that it names: forged"
    elif key is not None and was_current and not keys.is_current(record["key_id"]):
        yield "is sealed with a key that was replaced, though a line before it has the new one: forged with the old key"


LEAST_BYTES = 16
_ID_OF = b"hudi-reconcile audit key"
_ID_LETTERS = 16


class AuditKeyError(EvidenceError):
    """The log is sealed with a key that was not given, so nobody can say whether it is what it was."""


@dataclass(frozen=True, slots=True, repr=False)
class AuditKey:
    """One secret. Its repr is its id."""

    secret: bytes

    @property
    def key_id(self) -> str:
        """What lines call the key by: 16 hex digits."""
        return self.mac(_ID_OF)[:_ID_LETTERS]

    def mac(self, text: bytes) -> str:
        """HMAC-SHA256 (RFC 2104) of a text, in hex."""
        return hmac.digest(self.secret, text, hashlib.sha256).hex()

    def __repr__(self) -> str:
        return f"AuditKey({self.key_id})"


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The key that new lines are sealed with (None: with none), and those that lines older than its first may have.

    `unsealed_head` is the hash of the last line from before there was a key: lines up to it count without a seal.
    """

    current: AuditKey | None = None
    old: tuple[AuditKey, ...] = ()
    unsealed_head: str | None = None

    def find(self, key_id: object) -> AuditKey | None:
        """The key of an id; None where it was not given."""
        given = self.old if self.current is None else (self.current, *self.old)
        return next((key for key in given if key.key_id == key_id), None)

    def is_current(self, key_id: object) -> bool:
        """True where new lines are sealed with the key of this id."""
        return self.current is not None and self.current.key_id == key_id


NO_KEYS = KeyRing()


def audit_key(text: str, where: str) -> AuditKey:
    """The key of a text as it stands in a file or variable. `where` names that for people.

    Raises:
        UsageError: shorter than 16 bytes, which could be guessed from any line of the log.
    """
    secret = text.encode()
    if len(secret) < LEAST_BYTES:
        raise UsageError(
            f"{where} is shorter than {LEAST_BYTES} bytes: such a key can be guessed from the log",
            fix="make one: openssl rand -hex 32",
        )
    return AuditKey(secret)


def build_missing_key_error(key_id: object, given: KeyRing, where: str) -> AuditKeyError:
    """What to say where a line was sealed with a key that is not on the ring."""
    short = str(key_id)[:_ID_LETTERS]
    if given == NO_KEYS:
        return AuditKeyError(
            f"{where} is sealed with key {short}, and no key is given: it cannot be told from a forged one",
            fix="name the key: audit: {key: ${file:PATH}} in the config, or audit verify --key-file PATH",
        )
    return AuditKeyError(
        f"{where} is sealed with key {short}, which is not the one given: it cannot be told from a forged one",
        fix="name that key under audit.key, or under audit.old_keys if it was replaced",
    )


FIRST_PREVIOUS = "0" * 64
_BLOCK_BYTES = 1 << 16
_BEGINNING = b'{"'  # of every record; what begins otherwise was never a line of ours, and is not cut off as one
_DEEPEST = 32  # ours are 4 deep; what is as deep as Python's stack could be read, and then not hashed

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tail:
    """How the log ends: size of its whole lines, the last whole record, and the bytes of a line cut by a crash.

    `ended` is False where the last whole line lacks only its line end.
    """

    whole_bytes: int
    last: Record | None
    torn: bytes = b""
    ended: bool = True

    @property
    def head(self) -> str:
        """The hash of the last record; 64 zeros where there is none."""
        return FIRST_PREVIOUS if self.last is None else str(self.last["hash"])


def write_canonical(value: Record) -> bytes:
    r"""The one spelling of a record that is hashed: UTF-8, sorted keys, no blanks, non-ASCII escaped.

    >>> write_canonical({"b": "\u00e9", "a": [1, None]})
    b'{"a":[1,null],"b":"\\u00e9"}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def parse_line(line: bytes) -> Record | None:
    """The record of a line; None for what is no JSON object, or holds what no canonical JSON does (NaN, infinities)."""
    try:
        value = json.loads(line, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    deep = line.count(b"[") + line.count(b"{") > _DEEPEST and not _is_flat(value, _DEEPEST)
    return value if isinstance(value, dict) and not deep else None


def record_hash(record: Record) -> str:
    """The hash that the record should carry."""
    return hashlib.sha256(write_canonical({key: value for key, value in record.items() if key != "hash"})).hexdigest()


def write_sealed_text(record: Record) -> bytes:
    """What the key of a sealed record signs."""
    return write_canonical({key: value for key, value in record.items() if key not in ("hash", "mac")})


def refuse_to_unseal(path: Path, last: Record | None, keys: KeyRing) -> None:
    """Raises AuditKeyError where the last line is sealed with a key that is not given: the next would break the seal."""
    if last is not None and "key_id" in last and (keys.current is None or keys.find(last["key_id"]) is None):
        raise build_missing_key_error(
            last["key_id"], keys if keys.current is not None else NO_KEYS, f"the last line of {path}"
        )


def append(path: Path, facts: Record, keys: KeyRing = NO_KEYS, mode: int = OWNERS_MODE) -> Record:
    """Add one line, chained to the last and sealed where there is a key, and bring it to the disk. The record as written.

    A torn last line is cut off first, and its length and hash are kept in the new line (`torn`); a whole last line
    that only lacks its line end is kept.

    Raises:
        EvidenceError: the last whole line is no record, or what follows it never was the beginning of one, the log is a
            link or has another name elsewhere, or the disk is full; the log is as it was.
        AuditKeyError: the last line is sealed with a key that is not given.
    """
    tail = read_tail(path)
    refuse_to_unseal(path, tail.last, keys)
    record = _chain_record(facts, tail, keys)
    descriptor = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        let_in(descriptor, mode)
        os.ftruncate(descriptor, tail.whole_bytes)
        try:
            write_all(descriptor, (b"" if tail.ended else b"\n") + write_canonical(record) + b"\n")
            os.fsync(descriptor)
        except OSError as error:
            os.ftruncate(descriptor, tail.whole_bytes)
            raise EvidenceError(
                f"{path} could not be written: {error.strerror}", fix="free space there and run the command again"
            ) from error
    finally:
        os.close(descriptor)
    return record


def read_tail(path: Path) -> Tail:
    """How the log ends, read from its end. A missing log has no lines.

    Raises:
        EvidenceError: the last whole line is no record, or what follows it never was the beginning of one.
    """
    data, offset = _last_two_lines(path)
    whole, newline, torn = data.rpartition(b"\n")
    if _is_record(torn):
        return Tail(offset + len(data), json.loads(torn), ended=False)
    # A power cut leaves the beginning of a line, or zeros in its place.
    if not torn.startswith(_BEGINNING[: len(torn)]) and torn.strip(b"\0"):
        raise _foreign(path, "the end")
    if not newline:
        return Tail(offset, None, torn)
    line = whole.rpartition(b"\n")[2]
    if not _is_record(line):
        raise _foreign(path, "the last line")
    return Tail(offset + len(whole) + 1, json.loads(line), torn)


def read_records(path: Path) -> Iterator[Record]:
    """The whole records, oldest first, unchecked but for being JSON objects; a torn last line is left out.

    Raises:
        EvidenceError: a line is no JSON object.
    """
    for number, line in enumerate(read_lines(path), start=1):
        if not line.endswith(b"\n") and not _is_record(line):
            return
        record = parse_line(line)
        if record is None:
            raise EvidenceError(f"line {number} of {path} is no audit record", fix="restore the log from a copy")
        yield record


def read_lines(path: Path) -> Iterator[bytes]:
    """The lines as they stand, line ends included; none where there is no log. Raises EvidenceError where it cannot be read."""
    try:
        with os.fdopen(open_regular(path), "rb") as stream:
            # A line longer than any of ours comes in pieces, each of them no record.
            yield from iter(lambda: stream.readline(MOST_BYTES), b"")
    except FileNotFoundError:
        return
    except OSError as error:
        raise EvidenceError(
            f"{path} cannot be read: {error.strerror}", fix="make it readable and run the command again"
        ) from error


# Helpers


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _chain_record(facts: Record, tail: Tail, keys: KeyRing) -> Record:
    record: dict[str, Any] = {**facts, "version": 1, "seq": 1, "previous": FIRST_PREVIOUS}
    if tail.last is not None:
        record["seq"] = tail.last["seq"] + 1
        record["previous"] = tail.last["hash"]
    if tail.torn:
        record["torn"] = {"bytes": len(tail.torn), "sha256": hashlib.sha256(tail.torn).hexdigest()}
    if keys.current is not None:
        record["key_id"] = keys.current.key_id
        record["mac"] = keys.current.mac(write_sealed_text(record))
    record["hash"] = record_hash(record)
    return record


def _last_two_lines(path: Path) -> tuple[bytes, int]:
    """Bytes from the start of the last whole line on, and their offset."""
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        return b"", 0
    with os.fdopen(descriptor, "rb") as stream:
        offset = stream.seek(0, os.SEEK_END)
        data = b""
        while offset and data.count(b"\n") < 2:  # noqa: PLR2004 - the end of the last whole line, and of the one before
            if len(data) > MOST_BYTES:
                raise _foreign(path, "the end")
            step = min(max(_BLOCK_BYTES, len(data)), offset)
            offset -= step
            stream.seek(offset)
            data = stream.read(step) + data
    return data, offset


def _foreign(path: Path, what: str) -> EvidenceError:
    return EvidenceError(
        f"{what} of {path} is no audit record, nor the beginning of one",
        fix=f"remove what was added to {path} after its last record, such as an editor's blank line; or keep it as evidence"
        " under another name: a new log starts with the next run, and with a key it proves no older one",
    )


def _is_flat(value: object, depth: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_is_flat(child, depth - 1) for child in inner)


def _is_record(line: bytes) -> bool:
    record = parse_line(line)
    return record is not None and isinstance(record.get("seq"), int) and record.get("hash") == record_hash(record)
