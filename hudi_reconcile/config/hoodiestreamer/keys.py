"""PURE: the keys of a HoodieStreamer properties file: which of them say where the source is, which are Hudi's, which are wrong.

Decides what each key is called here; what a value means, `tree.py` decides. Messages repeat keys, never values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from hudi_reconcile.config.hoodiestreamer.properties import Property
from hudi_reconcile.config.problems import MOST_SHOWN
from hudi_reconcile.core.errors import fold, suggest_name
from hudi_reconcile.core.lake.ownership import select_reserved

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
_STREAMER = ("hoodie.streamer.", "hoodie.deltastreamer.")
# What decides, at HoodieStreamer, which rows or values arrive: read without it, another table would stand in the lake.
_CHANGES_ROWS = {
    "transformer.": "transformers run in HoodieStreamer alone; say it in SQL: table.name=(SELECT …) t",
    "schemaprovider.": "schema providers and their post-processors run in HoodieStreamer alone; the columns are the source's own",
    "schema.": "schema providers and their post-processors run in HoodieStreamer alone; the columns are the source's own",
    "row.writer": "the tool writes rows in its own way",
    "errortable.": "there is no error table: a row that cannot be written ends the pull",
    "keygen.": "partitions are derived by lake.partition_by: [day(column)] in a config",
    "source.": "the source is the JDBC table, and no other setting of a source is followed",
}
_ROW_WRITERS = ("hoodie.datasource.write.row.writer.", "hoodie.datasource.write.bulkinsert.row.writer.")
# Read by code of other jars, which bring their own keys.
_OPEN = ("hoodie.write.lock.", "hoodie.aws.", "hoodie.gcp.", "hoodie.metrics.", "hoodie.meta.sync.", "hoodie.datahub.")
KEYS_FILE = Path(__file__).with_name("hudi_keys.txt")
_LOOKS_JDBC = re.compile(r"hoodie\.[a-z]+\.jdbc\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wrong:
    """One thing wrong with the file: the line, the key (empty: the file), and what."""

    line: int
    key: str
    text: str


@dataclass(slots=True)
class Sorted:
    """The properties by what they are for. `jdbc` and `write` are by the tool's own name of the key.

    `odd` are options that Hudi does not know, as far as its own classes tell.
    """

    jdbc: dict[str, Property] = field(default_factory=dict)
    extra: dict[str, Property] = field(default_factory=dict)
    write: dict[str, Property] = field(default_factory=dict)
    options: dict[str, Property] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    wrong: list[Wrong] = field(default_factory=list)
    odd: list[Wrong] = field(default_factory=list)


@cache
def hudi_keys() -> tuple[str, ...]:
    """Every config key of the Hudi that is in the lock file, as its own classes declare them, older names included.

    `python -m tests.support.hudi_keys` makes the file; its first line names the bundle.
    """
    return tuple(line for line in KEYS_FILE.read_text("utf-8").splitlines() if not line.startswith("#"))


def sort_keys(properties: Iterable[Property]) -> Sorted:
    """Every property in its place; what has none is in `wrong`, with the nearest legal spelling.

    What HoodieStreamer would do to rows, and this tool would not, is in `wrong` too, whatever is trusted.
    """
    sorting = Sorted()
    for entry in properties:
        is_told = len(sorting.wrong) < MOST_SHOWN
        prefix = next((prefix for prefix in PREFIXES if entry.key.startswith(prefix)), None)
        if prefix is None and (text := _refusal(entry.key)) is not None:
            sorting.wrong.append(Wrong(entry.line, entry.key, text))
        elif prefix is not None and entry.key[len(prefix) :] in _JDBC:
            _put(sorting, sorting.jdbc, _JDBC[entry.key[len(prefix) :]], entry)
        elif prefix is not None and entry.key.startswith(prefix + EXTRA) and len(entry.key) > len(prefix + EXTRA):
            _put(sorting, sorting.extra, entry.key[len(prefix + EXTRA) :], entry)
        elif prefix is not None or _LOOKS_JDBC.match(entry.key):
            sorting.wrong.append(Wrong(entry.line, entry.key, _unknown(entry.key, prefix) if is_told else ""))
        elif entry.key in _WRITE:
            _put(sorting, sorting.write, _WRITE[entry.key], entry)
        elif entry.key.startswith("hoodie."):
            _put_option(sorting, entry, is_told=is_told)
        else:
            sorting.wrong.append(Wrong(entry.line, entry.key, _foreign(entry.key) if is_told else ""))
    return sorting


def legal_jdbc_keys(prefix: str) -> tuple[str, ...]:
    """What may stand after a prefix, in full."""
    return (*(prefix + name for name in _JDBC), f"{prefix}{EXTRA}*")


def _put(sorting: Sorted, place: dict[str, Property], name: str, entry: Property) -> None:
    first = place.setdefault(name, entry)
    if first.value != entry.value:
        said = "is given twice" if first.key == entry.key else f"says otherwise than {first.key}"
        sorting.wrong.append(Wrong(entry.line, entry.key, f"{said}, first on line {first.line}"))


def _put_option(sorting: Sorted, entry: Property, *, is_told: bool) -> None:
    if entry.key in _OWN:
        sorting.unused.append(entry.key)
        return
    if (text := _oddity(entry.key, is_told=is_told)) is not None:
        sorting.odd.append(Wrong(entry.line, entry.key, text))
    _put(sorting, sorting.options, entry.key, entry)


def _refusal(key: str) -> str | None:
    """Why a setting of HoodieStreamer's cannot be followed; None for what is none. Letter case does not count."""
    folded = fold(key)
    if folded.startswith(_ROW_WRITERS):
        return f"is not followed: {_CHANGES_ROWS['row.writer']}; remove the line"
    prefix = next((prefix for prefix in _STREAMER if folded.startswith(prefix)), None)
    if prefix is None or _LOOKS_JDBC.match(key):
        return None
    rest = folded[len(prefix) :]
    known = next((text for start, text in _CHANGES_ROWS.items() if rest.startswith(start)), None)
    return f"is not followed: {known or 'it is a setting of HoodieStreamer itself'}; remove the line if that is meant"


def _oddity(key: str, *, is_told: bool) -> str | None:
    folded = fold(key)
    if folded in hudi_keys() or folded.startswith((*_OPEN, *select_reserved([folded]))):
        return None  # reserved keys are refused by their own words
    trust = f"{PREFIXES[1]}{WAIVERS[0]}=true passes it on"
    return f"is no key of this Hudi{suggest_name(folded, hudi_keys()) if is_told else ''} ({trust})"


def _unknown(key: str, prefix: str | None) -> str:
    legal = (
        legal_jdbc_keys(prefix)
        if prefix
        else tuple(legal_key for each in PREFIXES for legal_key in legal_jdbc_keys(each))
    )
    names = [*_JDBC, f"{EXTRA}*"]
    where = f"after {prefix}" if prefix else f"after {', '.join(PREFIXES)}"
    return f"unknown key{suggest_name(key.lower(), legal)} (legal {where}: {', '.join(names)})"


def _foreign(key: str) -> str:
    if key == "include":
        return "other files are not included; put everything into this one"
    return f"is no hoodie.* key{suggest_name(key, (*_WRITE, *legal_jdbc_keys(PREFIXES[1])))}"
