"""Keys that seal lines of the audit log: HMAC-SHA256 over a line, so that nobody without the key can write one.

A key is known in the log by its id, a hash that says nothing of the key. Pure: knows neither files nor environment.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.evidence.files import EvidenceError

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


def lacking(key_id: object, given: KeyRing, where: str) -> AuditKeyError:
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
