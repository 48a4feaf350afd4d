"""PURE: the keys of a HoodieStreamer properties file: which of them say where the source is, which are Hudi's, which are wrong.

Decides what each key is called here; what a value means is `props`' to say. Messages repeat keys, never values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from hudi_reconcile.config.hoodiestreamer.properties import Property
from hudi_reconcile.config.problems import MOST_SHOWN
from hudi_reconcile.core.errors import suggest_name

PREFIXES = ("hoodie.datasource.jdbc.", "hoodie.streamer.jdbc.", "hoodie.deltastreamer.jdbc.")
EXTRA = "extra.options."
WAIVERS = ("trust.properties", "insecure")  # the tool's own, since nothing else waives what it checks
# Spelling after the prefix -> the one name that it has here.
_JDBC = {
    **{name: name for name in (
        "url", "user", "password", "password.file", "driver.class", "table.name", "incr.pull", "table.incr.column.name",
        "incr.fallback.to.full.fetch", "storage.level", *WAIVERS,
    )},
    "incremental.pull": "incr.pull",
    "table.incremental.column.name": "table.incr.column.name",
}  # fmt: skip
_WRITE = {
    "hoodie.table.name": "name",
    "hoodie.datasource.write.table.name": "name",
    "hoodie.base.path": "path",
    "hoodie.datasource.write.recordkey.field": "key",
    "hoodie.table.recordkey.fields": "key",
    "hoodie.datasource.write.partitionpath.field": "partition",
    "hoodie.table.partition.fields": "partition",
    "hoodie.datasource.write.table.type": "type",
    "hoodie.table.type": "type",
    "hoodie.datasource.write.keygenerator.class": "generator",
    "hoodie.datasource.write.keygenerator.type": "generator",
    "hoodie.table.keygenerator.class": "generator",
    "hoodie.table.keygenerator.type": "generator",
}
# The tool settles these itself; a file that another program uses too may well have them.
_OWN = frozenset({
    "hoodie.datasource.write.precombine.field", "hoodie.table.precombine.field", "hoodie.table.ordering.fields",
    "hoodie.datasource.write.operation", "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.payload.class", "hoodie.datasource.write.reconcile.schema", "hoodie.combine.before.upsert",
    "hoodie.combine.before.insert", "hoodie.datasource.write.insert.drop.duplicates", "hoodie.table.base.file.format",
    "hoodie.base.file.format", "hoodie.compaction.payload.class",
})  # fmt: skip
_LOOKS_JDBC = re.compile(r"hoodie\.[a-z]+\.jdbc\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wrong:
    """One thing wrong with the file: the line, the key (empty: the file), and what."""

    line: int
    key: str
    text: str


@dataclass(slots=True)
class Sorted:
    """The properties by what they are for. `jdbc` and `write` are by the tool's own name of the key."""

    jdbc: dict[str, Property] = field(default_factory=dict)
    extra: dict[str, Property] = field(default_factory=dict)
    write: dict[str, Property] = field(default_factory=dict)
    options: dict[str, Property] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    wrong: list[Wrong] = field(default_factory=list)


def sort_keys(properties: Iterable[Property]) -> Sorted:
    """Every property in its place; what has none is in `wrong`, with the nearest legal spelling."""
    found = Sorted()
    for one in properties:
        is_told = len(found.wrong) < MOST_SHOWN
        prefix = next((prefix for prefix in PREFIXES if one.key.startswith(prefix)), None)
        if prefix is not None and one.key[len(prefix) :] in _JDBC:
            _put(found, found.jdbc, _JDBC[one.key[len(prefix) :]], one)
        elif prefix is not None and one.key.startswith(prefix + EXTRA) and len(one.key) > len(prefix + EXTRA):
            _put(found, found.extra, one.key[len(prefix + EXTRA) :], one)
        elif prefix is not None or _LOOKS_JDBC.match(one.key):
            found.wrong.append(Wrong(one.line, one.key, _unknown(one.key, prefix) if is_told else ""))
        elif one.key in _WRITE:
            _put(found, found.write, _WRITE[one.key], one)
        elif one.key in _OWN:
            found.unused.append(one.key)
        elif one.key.startswith("hoodie."):
            _put(found, found.options, one.key, one)
        else:
            found.wrong.append(Wrong(one.line, one.key, _foreign(one.key) if is_told else ""))
    return found


def legal_jdbc_keys(prefix: str) -> tuple[str, ...]:
    """What may stand after a prefix, in full."""
    return (*(prefix + name for name in _JDBC), f"{prefix}{EXTRA}*")


def _put(found: Sorted, place: dict[str, Property], name: str, one: Property) -> None:
    first = place.setdefault(name, one)
    if first.value != one.value:
        said = "is given twice" if first.key == one.key else f"says otherwise than {first.key}"
        found.wrong.append(Wrong(one.line, one.key, f"{said}, first on line {first.line}"))


def _unknown(key: str, prefix: str | None) -> str:
    legal = legal_jdbc_keys(prefix) if prefix else tuple(one for each in PREFIXES for one in legal_jdbc_keys(each))
    names = [*_JDBC, f"{EXTRA}*"]
    where = f"after {prefix}" if prefix else f"after {', '.join(PREFIXES)}"
    return f"unknown key{suggest_name(key.lower(), legal)} (legal {where}: {', '.join(names)})"


def _foreign(key: str) -> str:
    if key == "include":
        return "other files are not included; put everything into this one"
    return f"is no hoodie.* key{suggest_name(key, (*_WRITE, *legal_jdbc_keys(PREFIXES[1])))}"
