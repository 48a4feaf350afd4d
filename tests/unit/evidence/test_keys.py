"""With a key, nobody without it writes a line: not one more, not all anew; and without the key nobody calls the log intact."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hudi_reconcile.core.errors import RefusedError, UsageError
from hudi_reconcile.evidence import audit_log
from hudi_reconcile.evidence.audit_log import NO_KEYS, AuditKeyError, KeyRing, audit_key
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.trust import list_approvals
from hudi_reconcile.evidence.verify import verify
from tests.unit.evidence.conftest import NOON_MICROS

SECRET, OTHER = "0123456789abcdef-canary", "fedcba9876543210-other"
KEY, WRONG = KeyRing(audit_key(SECRET, "test")), KeyRing(audit_key(OTHER, "test"))


def log_of(folder: Path, *rings: KeyRing) -> Path:
    """A log with one line for each ring."""
    for number, ring in enumerate(rings):
        audit_log.append(folder / "audit.jsonl", {"run_id": f"r{number}", "command": "sweep", "tables": []}, ring)
    return folder / "audit.jsonl"


def said(folder: Path, keys: KeyRing = KEY) -> list[str]:
    return [f"{flaw.line}: {flaw.what}" for flaw in verify(folder, keys=keys).flaws]


def test_sealed_line_can_be_checked_by_other_code_and_does_not_hold_the_key(tmp_path: Path) -> None:
    line = json.loads(log_of(tmp_path, KEY).read_bytes())

    signed = {name: value for name, value in line.items() if name not in ("hash", "mac")}
    body = json.dumps(signed, sort_keys=True, separators=(",", ":")).encode()
    assert line["mac"] == hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert "canary" not in str(line) + repr(KEY)
    found = verify(tmp_path, keys=KEY)
    assert (found.flaws, found.lines, found.sealed) == ([], 1, 1)


@pytest.mark.parametrize("given", [NO_KEYS, WRONG], ids=["no key", "wrong key"])
def test_sealed_log_is_not_called_intact_without_its_key(tmp_path: Path, given: KeyRing) -> None:
    log_of(tmp_path, KEY, KEY)

    with pytest.raises(AuditKeyError, match=r"line 1 of .* is sealed with key [0-9a-f]{16}") as caught:
        verify(tmp_path, keys=given)
    assert "canary" not in caught.value.message + caught.value.fix


def test_flaws_are_told_even_where_the_key_is_missing(tmp_path: Path) -> None:
    log = log_of(tmp_path, KEY, KEY)
    log.write_bytes(log.read_bytes().replace(b'"r1"', b'"rX"'))

    told = said(tmp_path, NO_KEYS)
    assert told[0].startswith("2: was edited")
    assert told[-1].startswith("1: line 1 of")


def without_seals(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{name: value for name, value in one.items() if name not in ("key_id", "mac")} for one in lines]


def last_without_seal(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    return [*lines[:-1], *without_seals(lines[-1:])]


def other_outcome(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{**lines[0], "run_id": "forged"}, *lines[1:]]


@pytest.mark.parametrize(
    ("forge", "flaw"),
    [
        (without_seals, "3: is not sealed though a key is given"),
        (last_without_seal, "3: is not sealed, though lines before it are"),
        (other_outcome, "1: was not sealed by the key that it names"),
    ],
)
def test_log_that_was_written_anew_without_the_key_is_found(
    tmp_path: Path, forge: Callable[[list[dict[str, object]]], list[dict[str, object]]], flaw: str
) -> None:
    log = log_of(tmp_path, KEY, KEY, KEY)
    lines = forge([json.loads(line) for line in log.read_bytes().splitlines()])
    previous, text = "0" * 64, b""
    for one in lines:  # every hash of the chain is right again
        record = {**one, "previous": previous}
        previous = audit_log.record_hash(record)
        text += audit_log.write_canonical({**record, "hash": previous}) + b"\n"
    log.write_bytes(text)

    assert any(one.startswith(flaw) for one in said(tmp_path))
    if forge is without_seals:
        assert said(tmp_path, NO_KEYS) == []  # which is what the key is for


def test_log_that_got_its_key_later_and_then_another_one_is_intact_with_both(tmp_path: Path) -> None:
    both = KeyRing(WRONG.current, (audit_key(SECRET, "test"),))
    log_of(tmp_path, NO_KEYS, KEY, both)

    assert said(tmp_path, both) == []
    with pytest.raises(AuditKeyError, match="line 2"):
        verify(tmp_path, keys=WRONG)


@pytest.mark.parametrize("given", [NO_KEYS, WRONG, KeyRing(None, (audit_key(SECRET, "test"),))])
def test_run_that_would_leave_an_unsealed_or_foreign_line_does_not_begin(store: Store, given: KeyRing) -> None:
    store.reports.mkdir()
    log_of(store.reports, KEY)

    with pytest.raises(AuditKeyError, match="last line"):
        Store(store.reports, given).begin(NOON_MICROS)
    with pytest.raises(AuditKeyError, match="last line"):
        audit_log.append(store.reports / "audit.jsonl", {"run_id": "r"}, given)
    Store(store.reports, KEY).begin(NOON_MICROS).abandon()


def test_approvals_count_only_from_a_log_that_ends_sealed(tmp_path: Path) -> None:
    said_by = {"plan_id": "p", "run_id": "r", "upserts": 1, "deletes": 0, "by": "al", "login": "al@x", "at_utc": "t"}
    line = {"run_id": "r9", "command": "approve", "tables": [{"name": "orders", "approval": said_by}]}
    audit_log.append(tmp_path / "audit.jsonl", line)

    assert len(list(list_approvals(tmp_path))) == 1
    with pytest.raises(RefusedError, match="not sealed though there is a key"):
        list(list_approvals(tmp_path, KEY))
    head = audit_log.read_tail(tmp_path / "audit.jsonl").head
    audit_log.append(tmp_path / "audit.jsonl", line, KEY)
    assert len(list(list_approvals(tmp_path, KEY))) == 1
    assert len(list(list_approvals(tmp_path, replace(KEY, unsealed_head=head)))) == 2
    with pytest.raises(AuditKeyError):
        list(list_approvals(tmp_path, WRONG))


def test_key_that_can_be_guessed_is_refused() -> None:
    with pytest.raises(UsageError, match="shorter than 16 bytes"):
        audit_key("secret", "audit.key")
