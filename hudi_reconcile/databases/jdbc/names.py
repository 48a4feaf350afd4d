"""From `source.table` as a person writes it to the one table that a JDBC driver lists. Refuses by name what it cannot find."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hudi_reconcile.core.errors import UsageError, find_nearest_name
from hudi_reconcile.core.source.jdbc import DriverFacts, Relation

_PART = re.compile(r'"((?:[^"]|"")+)"|([^".\s]+)')
_MOST_PARTS = 3


class Lister(Protocol):
    """Lists tables and views."""

    def relations(self, catalog: str | None, schema: str | None, name: str | None) -> list[Relation]:
        """Tables and views; None: of every catalog, schema or name."""
        ...


@dataclass(frozen=True, slots=True)
class NamePart:
    """One part of a dotted name. What stands in quotes is meant letter by letter."""

    text: str
    is_quoted: bool

    def fold(self, folds: str) -> str:
        """As the database stores it; unquoted names of a database that folds none stay as they are."""
        if self.is_quoted or folds not in ("upper", "lower"):
            return self.text
        return self.text.upper() if folds == "upper" else self.text.lower()

    def means(self, name: str | None, folds: str) -> bool:
        """Whether a stored name is meant."""
        if self.is_quoted or folds in ("upper", "lower"):
            return name == self.fold(folds)
        return name is not None and name.lower() == self.text.lower()


def split_name(name: str) -> tuple[NamePart, ...]:
    """The parts of a SQL-quoted name. Raises UsageError for what is no name.

    >>> [part.text for part in split_name('shop."Order Items"')]
    ['shop', 'Order Items']
    """
    parts, at = [], 0
    while match := _PART.match(name, at):
        quoted, plain = match.groups()
        parts.append(
            NamePart(plain, is_quoted=False) if quoted is None else NamePart(quoted.replace('""', '"'), is_quoted=True)
        )
        at = match.end()
        if at == len(name) and len(parts) <= _MOST_PARTS:
            return tuple(parts)
        if name[at : at + 1] != ".":
            break
        at += 1
    raise UsageError(f"source.table {name} is not a table name", fix='quote odd names as SQL does: shop."Order Items"')


def find(lister: Lister, facts: DriverFacts, name: str, place: str) -> Relation:
    """The table or view. Raises UsageError where there is none, or more than one."""
    parts = split_name(name)
    catalog, schema = _find_qualifiers(parts, facts)
    exact = parts[-1].fold(facts.folds) if parts[-1].is_quoted or facts.folds != "none" else None
    relations = [relation for relation in lister.relations(catalog, schema, exact) if _meant(relation, parts, facts)]
    if len(relations) == 1:
        return relations[0]
    if relations:
        where = ", ".join(sorted(f"{relation.schema or relation.catalog}.{relation.name}" for relation in relations))
        raise UsageError(f"table {name} is ambiguous in {place}: {where}", fix="name its schema in source.table")
    there = [relation.name for relation in lister.relations(catalog, schema, None)]
    raise UsageError(
        f"table {name} does not exist in {place}" + (f", schema {schema}" if schema else "") + _hint(parts[-1], there),
        fix="correct tables[].source.table in the config; names that are not in the database's own case need quotes",
    )


def _find_qualifiers(parts: tuple[NamePart, ...], facts: DriverFacts) -> tuple[str | None, str | None]:
    qualifiers = [part.fold(facts.folds) for part in parts[:-1]]
    if not qualifiers:
        return facts.catalog, facts.schema
    if len(qualifiers) == 1 and facts.schema is None and facts.catalog is not None:
        return qualifiers[0], None  # databases whose schemas are JDBC catalogs
    if facts.folds == "none":
        return (None if len(qualifiers) == 1 else qualifiers[0]), None
    return (facts.catalog if len(qualifiers) == 1 else qualifiers[0]), qualifiers[-1]


def _meant(relation: Relation, parts: tuple[NamePart, ...], facts: DriverFacts) -> bool:
    if not parts[-1].means(relation.name, facts.folds):
        return False
    return len(parts) == 1 or parts[-2].means(relation.schema or relation.catalog, facts.folds)


def _hint(part: NamePart, there: Sequence[str]) -> str:
    same = next((name for name in there if name.lower() == part.text.lower()), None)
    near = same or find_nearest_name(part.text, there)
    return f' (did you mean "{near}", in quotes?)' if near else ""
