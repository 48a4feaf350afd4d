"""One writer of ours a table: a lease file beside it. Decides who may write; `lease_file.py` reads and writes the file.

The lease keeps our own processes apart and tells the next one that the last one died. It does not protect the data: that
is what the lock, optimistic concurrency and compare-and-set are for, whatever a clock or a storage does.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum

from hudi_reconcile.core.json_text import json_of

LEASE_MS = 300_000
RENEW_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Holder:
    """A process. `scope` names the boot and process namespace in which `pid` and `started` mean something."""

    host: str
    scope: str
    pid: int
    started: str


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds the table, for which run, since when and until when if it does not renew (epoch milliseconds).

    `since` is the time of the lake's timeline at the start, `yyyyMMddHHmmssSSS`: instants of the holder are not older.
    """

    holder: Holder
    owner: str
    token: str
    since: str
    since_ms: int
    expires_ms: int


class Claim(StrEnum):
    """What a process may do about a lease it finds."""

    FREE = "free"
    OURS_DEAD = "ours-dead"
    EXPIRED = "expired"
    HELD = "held"


def claim_on(lease: Lease | None, me: Holder, *, now_ms: int, is_alive: bool) -> Claim:
    """Decide on the lease found. `is_alive` says whether its process runs, and is asked for within one scope only.

    A dead process of this host and boot is known to be dead; of any other only silence can be known.
    """
    if lease is None:
        return Claim.FREE
    if (lease.holder.host, lease.holder.scope) == (me.host, me.scope):
        return Claim.HELD if is_alive else Claim.OURS_DEAD
    return Claim.EXPIRED if lease.expires_ms <= now_ms else Claim.HELD


def heir(lease: Lease, dead: Lease | None) -> Lease:
    """The lease while it clears up after a dead one: killed meanwhile, it leaves both processes' instants to the next."""
    if dead is None:
        return lease
    return replace(lease, since=min(lease.since, dead.since), since_ms=min(lease.since_ms, dead.since_ms))


def claim_on_damaged(modified_ms: int, *, now_ms: int) -> Claim:
    """A file that is no lease may be one just being written: it counts as held until a lease's time has passed."""
    return Claim.EXPIRED if modified_ms + LEASE_MS <= now_ms else Claim.HELD


def lease_text(lease: Lease) -> str:
    """The lease as JSON."""
    return json.dumps({"version": 1, **asdict(lease)}, sort_keys=True, indent=1)


def parse_lease(text: str) -> Lease | None:
    """The lease in a text; None where it is none: half written, or of another version."""
    try:
        found = json_of(text)
        if not isinstance(found, dict) or found.pop("version", None) != 1:
            return None
        holder = Holder(**found.pop("holder"))
        lease = Lease(holder=holder, **found)
    except (ValueError, TypeError, KeyError):
        return None
    return lease if _is_typed(lease) and _is_typed(holder) else None


def _is_typed(value: Lease | Holder) -> bool:
    kinds = {"int": int, "str": str, "Holder": Holder}
    return all(isinstance(getattr(value, field.name), kinds[str(field.type)]) for field in fields(value))
