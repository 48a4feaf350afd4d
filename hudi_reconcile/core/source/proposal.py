"""From a catalog's word on a table to how it would be pulled: key, watermark, strategy, partitions, each with its reason. Pure.

What is proposed is right by the catalog, or says what was not known. Where a catalog leaves it open, the slower way that is
right is proposed: a full fetch, no partitions. A table without a key that the catalog proves is proposed to nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, INCREMENTING_KINDS, KEY_KINDS, Column, Kind
from hudi_reconcile.core.tables.masking import split_words

_TIMES: Final = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMPTZ})
_MANY_ROWS: Final = 1_000_000
_SHOWN: Final = 10
# In the name of a column that holds a time: when the row was changed; what stands before a time of any event.
_CHANGE_TEXT: Final = """
    aedat aktualisiert aktualizacji actualizado aggiornato amended atualizado
    change changed chg edited geaendert geändert gewijzigd
    lastchange lastchanged lastmod lastmodified lastupdate lastupdated maj mod modif modificado modificato modification modified
    modify modifié mtime mutated revised touched upd updated update updt zmieniono
"""
_CREATION_TEXT: Final = """
    added angelegt created creation creado creato create ctime cree créé crtd entered entry erstellt event ingested insert
    inserted loaded logged occurred received recorded registered
"""
# Words that say nothing of which part of a row was changed.
_NEUTRAL_TEXT: Final = """
    am at data date datetime datum db dt entity fecha heure last le on record row stamp sys system tech the time timestamp tm ts
    tz um utc when zeit
"""
_CHANGE: Final = frozenset(_CHANGE_TEXT.split())
_CREATION: Final = frozenset(_CREATION_TEXT.split())
_NEUTRAL: Final = frozenset(_NEUTRAL_TEXT.split())
_RUN_TOGETHER: Final = ("updated", "modified", "lastupd", "lastmod", "lastchange", "changed")


RelationType = Literal["table", "view", "foreign table"]


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """Columns that no two rows share, by a whole, immediate index.

    `is_proof`: no row lacks one of them, nor lies outside the index, so that a key of them need not be counted.
    """

    names: tuple[str, ...]
    is_primary: bool
    is_proof: bool


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """A column as the catalog has it. `numbered`: the database hands out growing numbers for it.

    `moved_by` is what sets it at each update of its row by itself, in words; empty where nothing is known to.
    """

    column: Column
    numbered: bool = False
    has_clock_default: bool = False
    moved_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTable:
    """A table or view as the catalog has it.

    `title` is what it might be called in a config, `sql` its name as `source.table` takes it. `unread` says why this role
    cannot read it. `indexed` are the columns that lead a whole index, None where the catalog tells of none. `ranged` is the
    column by whose ranges the source is partitioned. `key_kinds` are the kinds of column that may be part of a key here.
    """

    title: str
    sql: str
    type: RelationType = "table"
    columns: tuple[CatalogColumn, ...] = ()
    keys: tuple[UniqueKey, ...] = ()
    indexed: frozenset[str] | None = frozenset()
    ranged: str = ""
    rows: int | None = None
    unread: str = ""
    has_versions: bool = False
    key_kinds: frozenset[Kind] = KEY_KINDS

    def column(self, name: str) -> CatalogColumn | None:
        """The column of that name."""
        return next((entry for entry in self.columns if entry.column.name == name), None)


@dataclass(frozen=True, slots=True)
class Proposed:
    """What is proposed for one key of the config, and why. Nothing is proposed where there is no value."""

    values: tuple[str, ...] = ()
    why: str = ""


NOTHING: Final = Proposed()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProposal:
    """How a table would be pulled. `hindrance` is why it is not proposed; `unknown` is what the catalog does not tell."""

    name: str
    table: CatalogTable
    key: Proposed = NOTHING
    strategy: Proposed = NOTHING
    watermark: Proposed = NOTHING
    incrementing: Proposed = NOTHING
    partition_by: Proposed = NOTHING
    rename: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    hindrance: str = ""


def propose_table(table: CatalogTable, name: str, rename: Mapping[str, str]) -> TableProposal:
    """The proposal for one table. `rename` gives columns that the lake cannot hold under their names other ones."""
    key = _key(table)
    watermark, unknown = _watermark(table)
    identity = next((entry for entry in table.columns if _is_growing(entry)), None)
    strategy = _strategy(table, watermark, identity)
    by_number = identity is not None and "incrementing" in strategy.values[0]
    incrementing = Proposed((identity.column.name,), "the database numbers it") if identity and by_number else NOTHING
    if strategy.values == ("incrementing",):
        unknown += ("whether rows change after they were added: a pull brings added rows only, sweeps find the others",)
    uncompared = [entry.column for entry in table.columns if entry.column.kind is Kind.OTHER]
    unknown += tuple(
        f"how {column.name} ({column.declared}) compares: a sweep ends with 3 until compare.exclude names it"
        for column in uncompared
    )
    return TableProposal(
        name=name,
        table=table,
        key=key,
        strategy=strategy,
        watermark=watermark,
        incrementing=incrementing,
        partition_by=_partition(table, key),
        rename=rename,
        unknown=unknown,
        hindrance=_hindrance(table, key),
    )


def name_tables(titles: Sequence[str], legal: Mapping[str, str]) -> tuple[str, ...]:
    """A name for each table, no two alike by case or letter by letter. `legal` gives each title as a config may spell it.

    >>> name_tables(["Orders", "orders", "a b"], {"Orders": "Orders", "orders": "orders", "a b": "a_b"})
    ('Orders', 'orders_2', 'a_b')
    """
    taken: set[str] = set()
    names = []
    for title in titles:
        name, number = legal[title], 1
        while name.lower() in taken:
            number += 1
            name = f"{legal[title]}_{number}"
        taken.add(name.lower())
        names.append(name)
    return tuple(names)


def build_proposals_document(proposals: Sequence[TableProposal]) -> dict[str, object]:
    """The proposals for programs: `tables` that stand in the config, `left_out` with the reason."""
    return {
        "tables": [_entry(proposal) for proposal in proposals if not proposal.hindrance],
        "left_out": [{**_entry(proposal), "why": proposal.hindrance} for proposal in proposals if proposal.hindrance],
    }


def describe_proposals(proposals: Sequence[TableProposal]) -> tuple[str, ...]:
    """How many tables are proposed, by strategy, and which are left out; for people."""
    taken = [proposal for proposal in proposals if not proposal.hindrance]
    left_out = [proposal for proposal in proposals if proposal.hindrance]
    counts = Counter(proposal.strategy.values[0] for proposal in taken)
    by_strategy = ", ".join(f"{count:,} {strategy}" for strategy, count in counts.most_common())
    lines = [f"{len(taken):,} table{'' if len(taken) == 1 else 's'} proposed: {by_strategy}"]
    if left_out:
        lines.append(f"{len(left_out):,} left out, as comments in the config:")
        lines += [f"  {proposal.table.sql}: {proposal.hindrance}" for proposal in left_out[:_SHOWN]]
        lines += [f"  and {len(left_out) - _SHOWN:,} more"] if len(left_out) > _SHOWN else []
    return tuple(lines)


# --- helpers ---


def _entry(proposal: TableProposal) -> dict[str, object]:
    keys = {"key": proposal.key, "watermark": proposal.watermark, "partition_by": proposal.partition_by}
    single = {"strategy": proposal.strategy, "incrementing": proposal.incrementing}
    return {
        "name": proposal.name,
        "source_table": proposal.table.sql,
        "rows_estimate": proposal.table.rows,
        **{name: {"value": list(choice.values), "reason": choice.why} for name, choice in keys.items()},
        **{name: {"value": next(iter(choice.values), None), "reason": choice.why} for name, choice in single.items()},
        "rename": dict(proposal.rename),
        "unknown": list(proposal.unknown),
    }


def _key(table: CatalogTable) -> Proposed:
    usable = [key for key in table.keys if key.is_primary or (key.is_proof and key.names)]
    primary = next((key for key in usable if key.is_primary), None)
    if primary is not None:
        return Proposed(primary.names, "the primary key")
    best_key = min(usable, key=lambda key: _cost(table, key), default=None)
    if best_key is None:
        return NOTHING
    return Proposed(best_key.names, "a unique index over NOT NULL columns; there is no primary key")


def _cost(table: CatalogTable, key: UniqueKey) -> tuple[int, int, tuple[str, ...]]:
    kinds = [entry.column.kind for name in key.names if (entry := table.column(name)) is not None]
    return (len(key.names), sum(kind is not Kind.INTEGER for kind in kinds), key.names)


def _hindrance(table: CatalogTable, key: Proposed) -> str:
    if table.unread:
        return table.unread
    counts = Counter(entry.column.name.lower() for entry in table.columns)
    if twins := [entry.column.name for entry in table.columns if counts[entry.column.name.lower()] > 1]:
        return f"columns differ only by case ({', '.join(twins)}): read a view with distinct names instead"
    if not key.values:
        kind = (
            "a view, of which no catalog names a key" if table.type == "view" else "no primary key, and no unique index"
        )
        return f"{kind}{'' if table.type == 'view' else ' over NOT NULL columns'}: name the columns that identify a row"
    bad = [
        entry.column
        for name in key.values
        if (entry := table.column(name)) and entry.column.kind not in table.key_kinds
    ]
    if bad:
        shown = ", ".join(f"{column.name} is {column.declared}" for column in bad)
        return f"of its key {shown}, which cannot identify a row here: name other columns"
    return ""


def _watermark(table: CatalogTable) -> tuple[Proposed, tuple[str, ...]]:
    """The columns that say when a row changed, and what is not known of them."""
    about = {word for title in split_words(table.title) for word in (title, title.removesuffix("s"), f"{title}s")}
    ranked = sorted(_changes(table, about), key=lambda entry: _rank(table, entry))
    others = tuple(_others(table, about))
    if not ranked:
        return NOTHING, others
    best = ranked[0]
    chosen: tuple[CatalogColumn, ...] = (best,)
    if best.column.nullable and (created := _creation(table, best.column.kind)):
        chosen = (best, created)
    names = tuple(entry.column.name for entry in chosen)
    if not best.moved_by:
        others = (
            f"whether every writer sets {names[0]} when it changes a row: sweeps find rows where one did not",
            *others,
        )
    if all(entry.column.nullable for entry in chosen):
        others = (f"rows of which {names[0]} is NULL: only sweeps find them once they were missed", *others)
    if best.column.kind is Kind.TIMESTAMP:
        others = (f"the zone of {names[0]}, which has none: source.time_zone must be that of its writers", *others)
    if len(ranked) > 1:
        more = ", ".join(entry.column.name for entry in ranked[1:] if entry not in chosen)
        others = (*others, f"whether {more} would be a better watermark") if more else others
    return Proposed(names, "; ".join(_facts(table, entry) for entry in chosen)), others


def _changes(table: CatalogTable, about: set[str]) -> Iterator[CatalogColumn]:
    for entry in table.columns:
        if entry.column.kind in _TIMES and (entry.moved_by or _is_change(entry.column.name, about)):
            yield entry


def _is_change(name: str, about: set[str]) -> bool:
    """Whether the name says that the row, and not a part of it, was changed then."""
    words = set(split_words(name))
    said = {word for word in words if word in _CHANGE or word.startswith(_RUN_TOGETHER)}
    return bool(said) and words - said <= _NEUTRAL | about


def _rank(table: CatalogTable, entry: CatalogColumn) -> tuple[bool, bool, bool, bool, int]:
    is_indexed = entry.column.name in (table.indexed or ())
    return (
        not entry.moved_by,
        entry.column.nullable,
        not is_indexed,
        not entry.has_clock_default,
        table.columns.index(entry),
    )


def _facts(table: CatalogTable, entry: CatalogColumn) -> str:
    column = entry.column
    facts = [f"{column.name}: {column.declared}", "may be NULL" if column.nullable else "NOT NULL"]
    if entry.moved_by:
        facts.append(f"{entry.moved_by} sets it at each update")
    if table.indexed is not None:
        is_indexed = column.name in table.indexed
        facts.append("indexed" if is_indexed else "leads no index, so that every pull scans the table")
    return ", ".join(facts)


def _others(table: CatalogTable, about: set[str]) -> Iterator[str]:
    for entry in table.columns:
        name, words = entry.column.name, set(split_words(entry.column.name))
        if not words & _CHANGE or entry.moved_by:
            continue
        if entry.column.kind in _TIMES and not _is_change(name, about):
            yield f"whether {name} moves at every change of a row, or of a part of it"
        elif entry.column.kind in (Kind.INTEGER, Kind.TEXT, Kind.DATE) and words - _CHANGE <= _NEUTRAL | about:
            yield f"what {name} ({entry.column.declared}) counts: no watermark was made of it"


def _creation(table: CatalogTable, kind: Kind) -> CatalogColumn | None:
    """A time of creation that every row has, of the watermark's own kind: two clocks in one watermark are refused."""
    entries = (entry for entry in table.columns if entry.column.kind is kind and not entry.column.nullable)
    return next((entry for entry in entries if set(split_words(entry.column.name)) & _CREATION), None)


def _is_growing(entry: CatalogColumn) -> bool:
    is_whole = entry.column.kind in INCREMENTING_KINDS and not entry.column.scale
    return entry.numbered and is_whole and not entry.column.nullable


def _strategy(table: CatalogTable, watermark: Proposed, identity: CatalogColumn | None) -> Proposed:
    number = None if identity is None else identity.column.name
    if watermark.values:
        shown = " and ".join(watermark.values)
        said = f"{shown} {'say' if len(watermark.values) > 1 else 'says'} when a row changed"
        if number is None:
            return Proposed(("timestamp",), f"{said}; no column is numbered by the database")
        return Proposed(("timestamp+incrementing",), f"{said}, {number} orders rows of one moment")
    created = next((entry for kind in sorted(_TIMES) if (entry := _creation(table, kind))), None)
    if number is not None and created is not None:
        why = f"{number} only grows, and {created.column.name} is the only time: taken for rows that are added only"
        return Proposed(("incrementing",), why)
    why = "no column says when a row changed: every pull reads all rows"
    if table.has_versions and (table.rows or 0) >= _MANY_ROWS:
        why += "; xmin is another way (docs/pulling.md)"
    return Proposed(("full",), why)


def _partition(table: CatalogTable, key: Proposed) -> Proposed:
    """Months of the column by whose ranges the source is cut, if it is part of the key: then no row ever moves."""
    ranged = table.column(table.ranged)
    if ranged is None or ranged.column.kind not in CALENDAR_KINDS or ranged.column.name not in key.values:
        return NOTHING
    name = ranged.column.name
    if name != name.strip() or "(" in name or ")" in name:
        return NOTHING  # `lake.partition_by` has no spelling for such a name
    return Proposed((f"month({name})",), "the source has partitions by its ranges, and it is part of the key")
