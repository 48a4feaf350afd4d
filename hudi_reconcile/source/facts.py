"""What `doctor` is told of a server and a table. Values only: each engine fills them in, `app/doctor_checks` judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_reconcile.core.values import SourceTable


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server, and the role that we are there.

    `grant_to_see` is the statement that would let the role see every open transaction (`sees_all`); empty where there is none.
    `link` is what protects the way to it, in words, and `is_link_safe` whether that is enough. `replica_says` is what a replica
    tells of its lag, where it is known to tell. `unproven`: why nothing proves that the session cannot write; empty where it is
    proven.
    """

    product: str
    version: str
    place: str
    role: str
    link: str
    is_link_safe: bool
    sees_all: bool
    grant_to_see: str
    blind_seconds: float
    is_superuser: bool
    is_replica: bool
    replica_says: str = ""
    unproven: str = ""


@dataclass(frozen=True, slots=True)
class Indexes:
    """Which columns lead a whole index, and how many ids a session takes at once where a column's sequence hands out more."""

    leading: frozenset[str]
    id_cache: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableFacts:
    """One source table. `indexed` are the columns that lead a whole index; `key_proven` is the catalog's word for it.

    `id_cache` is how many ids a session takes at once, where a column's ids come from a sequence that hands out more than one.
    `can_write` is by a grant: a superuser, who may do everything, is told of once (`ServerFacts.is_superuser`). `asks` is what
    a view calls that knows who reads it; `runs` what the planner may call as this role, though no statement of ours names it.
    `has_indexes` is false of what reads other tables, as views and queries do.
    """

    table: SourceTable
    key_proven: bool
    can_read: bool
    can_write: bool
    indexed: frozenset[str]
    id_cache: Mapping[str, int] = field(default_factory=dict)
    asks: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    has_indexes: bool = True
