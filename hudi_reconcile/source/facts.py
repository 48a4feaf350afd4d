"""What `doctor` is told of a server and a table. Values only: each engine fills them in, `app/doctor_checks` judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_reconcile.core.values import SourceTable


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server, and the role that we are there.

    `grant_to_see` is the statement that would let the role see every open transaction (`sees_all`); empty where there is none.
    `has_tls` is None where only the driver knows. `replica_says` is what a replica tells of its lag, where it is known to tell.
    """

    product: str
    version: str
    place: str
    role: str
    has_tls: bool | None
    is_local: bool
    sees_all: bool
    grant_to_see: str
    blind_seconds: float
    is_superuser: bool
    is_replica: bool
    replica_says: str = ""


@dataclass(frozen=True, slots=True)
class Indexes:
    """Which columns lead a whole index, and how many ids a session takes at once where a column's sequence hands out more."""

    leading: frozenset[str]
    id_cache: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableFacts:
    """One source table. `indexed` are the columns that lead a whole index; `key_proven` is the catalog's word for it.

    `id_cache` is how many ids a session takes at once, where a column's ids come from a sequence that hands out more than one.
    `can_write` is by a grant: a superuser, who may do everything, is told of once (`ServerFacts.is_superuser`).
    """

    table: SourceTable
    key_proven: bool
    can_read: bool
    can_write: bool
    indexed: frozenset[str]
    id_cache: Mapping[str, int] = field(default_factory=dict)
