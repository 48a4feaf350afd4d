"""From a HoodieStreamer properties file to the config that it means: the table that it names, as `reconcile.yaml` would have it.

What cannot be taken is named with its line, all of it at once. Messages repeat keys, never values. Reads the one file; a
password file is read when the password is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from hudi_reconcile.config.fields import Location, Place
from hudi_reconcile.config.hoodiestreamer.keys import WAIVERS, Sorted, Wrong, sort_keys
from hudi_reconcile.config.hoodiestreamer.properties import PropertiesError, Property, parse_properties
from hudi_reconcile.config.hoodiestreamer.url import SourceUrl, is_unused, source_url
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.problems import join_problems, locate_problems
from hudi_reconcile.config.secrets import read_small
from hudi_reconcile.config.yaml_document import Document
from hudi_reconcile.core.errors import ConfigError, suggest_name
from hudi_reconcile.databases.registry import driver_word, known_drivers
from hudi_reconcile.sql.connection_properties import option_problems

Tree = dict[str, object]

PASSWORD_VARIABLE = "HUDI_RECONCILE_SOURCE_PASSWORD"  # noqa: S105 - a variable's name
_LEVELS = frozenset(
    f"{base}{copies}"
    for base in ("MEMORY_ONLY", "MEMORY_ONLY_SER", "MEMORY_AND_DISK", "MEMORY_AND_DISK_SER", "DISK_ONLY")
    for copies in ("", "_2")
) | {"DISK_ONLY_3", "OFF_HEAP", "NONE"}
_HELD_SO = ("MEMORY_AND_DISK", "MEMORY_AND_DISK_SER")
_GENERATORS = {
    "SIMPLE", "COMPLEX", "NON_PARTITION", "CUSTOM",
    "SimpleKeyGenerator", "ComplexKeyGenerator", "NonpartitionedKeyGenerator", "CustomKeyGenerator",
    "SimpleAvroKeyGenerator", "ComplexAvroKeyGenerator", "NonpartitionedAvroKeyGenerator", "CustomAvroKeyGenerator",
}  # fmt: skip
# Spark's own way to read in parallel; the tool cuts the key itself.
_PARALLEL = frozenset({"partitioncolumn", "lowerbound", "upperbound"})
_QUERY = re.compile(r"\((?P<query>.+)\)\s*(?:as\s+)?\w*", re.IGNORECASE | re.DOTALL)


@dataclass(slots=True)
class PropsTree:
    """Builds the tree; what is wrong goes to `found.wrong`. `lines` is where each key of the tree comes from."""

    found: Sorted
    place: Place
    notes: list[str] = field(default_factory=list)
    origins: dict[Location, Property] = field(default_factory=dict)
    password: str | None = None
    incrementing: bool = False
    source_limit: int | None = None
    schema: str | None = None

    def tree(self) -> Tree:
        """Everything that the properties say; wrong ones stand in `found.wrong` afterwards."""
        source = self._source()
        if "trust_properties" not in source:
            self.found.wrong += self.found.odd
        table = {
            "name": self._name(),
            "source": self._rows(),
            "pull": self._pull(),
            "lake": self._lake(),
        }
        for key in self.found.unused:
            self.notes.append(f"{key} is not used: the tool settles it itself")
        return {"version": 1, "source": source, "tables": [table]}

    def build_portable_tree(self, tree: Tree, lake_path: str) -> Tree:
        """The tree as a file of any folder may hold it: without a password, with whole paths and default reports."""
        source, tables = tree["source"], tree["tables"]
        if not isinstance(source, dict) or not isinstance(tables, list):
            raise TypeError("a tree of other shape")
        password = {"password": f"${{env:{PASSWORD_VARIABLE}}}"} if self.password is not None else {}
        plain = {key: value if key == "password" else _escape(value) for key, value in source.items()}
        table = {**tables[0], "lake": {**tables[0]["lake"], "path": lake_path}}
        return {"version": 1, "source": {**plain, **password}, "tables": [_escape(table)]}

    def _source(self) -> Tree:
        jdbc = self.found.jdbc
        user = jdbc["user"].value if "user" in jdbc else None
        where = self._url(user)
        source: Tree = {"url": where.url}
        self._trace_jdbc("url", "source", "url")
        if "driver.class" in jdbc:
            if where.is_jdbc:
                source["driver"] = jdbc["driver.class"].value
                self._trace_jdbc("driver.class", "source", "driver")
            else:
                self.notes.append(
                    f"{jdbc['driver.class'].key} is not used: PostgreSQL, MySQL and MariaDB need no driver"
                )
        waived = [name for name in WAIVERS if name in jdbc and self._truth(jdbc[name])]
        source |= {name.replace(".", "_"): True for name in waived}
        trusted = "trust.properties" in waived
        options = {
            **self._take_url_options(where, trusted=trusted),
            **({"user": user} if where.is_jdbc and user else {}),
        }
        for name, entry in self.found.extra.items():
            if name.lower() in _PARALLEL:
                self.notes.append(f"{entry.key} is not used: the tool cuts the key into ranges itself")
            elif name.lower() == "numpartitions":
                source["max_connections"] = self._count(entry)
            else:
                options[name] = entry.value
                self.origins["source", "jdbc", name] = entry
        if options:
            source["jdbc"] = options
        if (password := self._password(where)) is not None:
            source["password"] = password
        return source

    def _url(self, user: str | None) -> SourceUrl:
        entry = self._require("url")
        if entry is None:
            return SourceUrl("jdbc:none:none", is_jdbc=True)
        try:
            where = source_url(entry.value, user)
        except ValueError as error:
            self._wrong(entry, str(error))
            return SourceUrl("jdbc:none:none", is_jdbc=True)
        if not where.is_jdbc and not (user or where.user):
            self._wrong(entry, "names no user, and there is no key `…jdbc.user`")
        return where

    def _take_url_options(self, where: SourceUrl, *, trusted: bool) -> dict[str, str]:
        """The URL's parameters that are options here. What others need and this tool does not is told and left out."""
        entry, word = self.found.jdbc.get("url"), driver_word(where.url)
        used = {key: value for key, value in where.options.items() if not is_unused(word, key)}
        self.notes += [
            f"{key} in the URL is not used: the tool settles it itself"
            for key in sorted(set(where.options) - set(used))
        ]
        self.schema = used.pop("currentSchema", None) if word == "postgresql" else None
        for key, text in option_problems(known_drivers().get(word), used, trusted=trusted):
            self._wrong(entry, f"parameter {key} {text}")
        return used

    def _add_schema(self, table: Property) -> str:
        """The table's name, in the schema that the URL names where it names one itself no more."""
        if self.schema is None or "." in table.value:
            return table.value
        if re.fullmatch(r"\w+", self.schema) is None:
            self._wrong(
                self.found.jdbc.get("url"),
                "parameter currentSchema names no one schema; write schema.table as table.name",
            )
        return f"{self.schema}.{table.value}"

    def _password(self, where: SourceUrl) -> str | None:
        jdbc = self.found.jdbc
        plain, file = jdbc.get("password"), jdbc.get("password.file")
        if plain is not None and file is not None:
            self._wrong(file, f"excludes {plain.key}; keep the file")
        if file is not None:
            path = re.sub(r"^file:/*", "/", file.value)
            is_address = re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", path)  # of a file system of Hadoop's
            return "${file:" + (path if is_address else str(self.place.folder / path)) + "}"
        self.password = plain.value if plain is not None else where.password
        return None if self.password is None else self.password.replace("${", "$${")

    def _name(self) -> str:
        if "name" in self.found.write:
            self._trace_write("name", "tables", 0, "name")
            return self.found.write["name"].value
        table = self.found.jdbc.get("table.name")
        return "" if table is None else re.sub(r"\W", "", table.value.rsplit(".", 1)[-1])

    def _rows(self) -> Tree:
        rows: Tree = {}
        table = self._require("table.name")
        if table is not None:
            query = _QUERY.fullmatch(table.value.strip())
            rows = {"table": self._add_schema(table)} if query is None else {"query": query["query"].strip()}
            if query is not None and self.schema is not None:
                self._wrong(
                    self.found.jdbc.get("url"), "parameter currentSchema: write schema.table in the query instead"
                )
            self.origins["tables", 0, "source", next(iter(rows))] = table
        if "key" in self.found.write:
            rows["key"] = _names(self.found.write["key"].value)
            self._trace_write("key", "tables", 0, "source", "key")
        return rows

    def _pull(self) -> Tree:
        column, flag = self.found.jdbc.get("table.incr.column.name"), self.found.jdbc.get("incr.pull")
        wanted = column is not None if flag is None else self._truth(flag)
        if wanted and column is None:
            self._wrong(flag, "needs the key `…jdbc.table.incr.column.name`")
        if (level := self.found.jdbc.get("storage.level")) is not None:
            self._level(level)
        pull: Tree = {"strategy": "full"}
        if wanted and column is not None:
            pull = {"strategy": "timestamp", "watermark": [column.value]}
            if self.incrementing:
                pull = {"strategy": "incrementing", "incrementing": column.value}
            self.origins["tables", 0, "pull"] = column
        fallback = self.found.jdbc.get("incr.fallback.to.full.fetch")
        if fallback is not None and self._truth(fallback):
            pull["on_error"] = "full"
        if self.source_limit is not None and pull["strategy"] != "full":
            pull |= {"limit": self.source_limit, "most_pages": 1}
        return pull

    def _level(self, entry: Property) -> None:
        name = entry.value.upper()
        if name not in _LEVELS:
            self._wrong(entry, f"is no storage level of Spark's{suggest_name(name, _LEVELS)}")
        elif name not in _HELD_SO:
            self.notes.append(
                f"{entry.key}={name} is not used: rows are held once, in memory and on disk (MEMORY_AND_DISK), so that none "
                "is read twice"
            )

    def _lake(self) -> Tree:
        lake: Tree = {"path": ""}
        if "path" in self.found.write:
            lake["path"] = self.found.write["path"].value
            self._trace_write("path", "tables", 0, "lake", "path")
        else:
            self.found.wrong.append(Wrong(1, "hoodie.base.path", "is missing"))
            lake["path"] = "none"
        if "type" in self.found.write:
            lake["type"] = self.found.write["type"].value.lower()
            self._trace_write("type", "tables", 0, "lake", "type")
        if fields := self._partition_fields():
            lake["partition_by"] = fields
            self._trace_write("partition", "tables", 0, "lake", "partition_by")
        generator = self.found.write.get("generator")
        if generator is not None and generator.value.rsplit(".", 1)[-1] not in _GENERATORS:
            self._wrong(
                generator, "derives partitions in a way that is not known here; use lake.partition_by: [day(column)]"
            )
        if self.found.options:
            lake["options"] = {name: option.value for name, option in self.found.options.items()}
            for name, entry in self.found.options.items():
                self.origins["tables", 0, "lake", "options", name] = entry
        return lake

    def _partition_fields(self) -> list[str]:
        entry = self.found.write.get("partition")
        fields = []
        for name in _names(entry.value) if entry is not None else ():
            column, _, how = name.partition(":")
            if how.upper() not in ("", "SIMPLE"):
                self._wrong(entry, "holds a field that is not SIMPLE; use lake.partition_by: [day(column)] in a config")
            fields.append(column)
        return fields

    def _count(self, entry: Property) -> int:
        if re.fullmatch(r"[1-9][0-9]{0,3}", entry.value.strip()):
            return int(entry.value)
        self._wrong(entry, "expected a whole number from 1 up")
        return 1

    def _truth(self, entry: Property) -> bool:
        word = entry.value.strip().lower()
        if word not in ("true", "false"):
            self._wrong(entry, "expected true or false")
        return word == "true"

    def _require(self, name: str) -> Property | None:
        entry = self.found.jdbc.get(name)
        if entry is None or not entry.value:
            self.found.wrong.append(
                Wrong(1 if entry is None else entry.line, f"hoodie.streamer.jdbc.{name}", "is missing")
            )
            return None
        return entry

    def _wrong(self, entry: Property | None, text: str) -> None:
        if entry is not None:
            self.found.wrong.append(Wrong(entry.line, entry.key, text))

    def _trace_jdbc(self, name: str, *location: str | int) -> None:
        if name in self.found.jdbc:
            self.origins[location] = self.found.jdbc[name]

    def _trace_write(self, name: str, *location: str | int) -> None:
        self.origins[location] = self.found.write[name]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _escape(value: object) -> object:
    """Text that stands for itself: a properties file has no references."""
    if isinstance(value, dict):
        return {key: _escape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_escape(item) for item in value]
    return value.replace("${", "$${") if isinstance(value, str) else value


_LARGEST_BYTES = 1_048_576
_FIX = "correct the lines above; docs/properties.md lists every key"


@dataclass(frozen=True, slots=True)
class FromProps:
    """What a properties file means: the config, and its tree as it may be written down. `notes` are for people.

    `clear_password` is true where the file holds the password itself: the tree then has a reference in its place.
    """

    config: Config
    tree: Tree
    notes: tuple[str, ...]
    clear_password: bool


def load_props(path: Path, reports: Path, *, incrementing: bool = False, source_limit: int | None = None) -> FromProps:
    """The config of a properties file; runs go below `reports`.

    `incrementing`: the incremental column is a number that only grows, not a time; the file does not tell. `source_limit`: one
    pull reads so many rows at most, as HoodieStreamer's option of that name has it.

    Raises:
        ConfigError: the file cannot be read, or anything in it is wrong; all problems at once.
    """
    place = Place(str(path), path.absolute().parent)
    return parse_props(_text(path), place, reports, incrementing=incrementing, source_limit=source_limit)


def parse_props(
    text: str, place: Place, reports: Path, *, incrementing: bool = False, source_limit: int | None = None
) -> FromProps:
    """As `load_props`, of a text. Touches no file."""
    try:
        sorting = sort_keys(parse_properties(text))
    except PropertiesError as error:
        raise _error([Wrong(error.line, "", str(error))], place) from None
    build = PropsTree(sorting, place, incrementing=incrementing, source_limit=source_limit)
    tree = build.tree()
    tree["reports"] = str(reports)
    if sorting.wrong:
        raise _error(sorting.wrong, place)
    config = _validate(tree, build, place)
    shown = build.build_portable_tree(tree, config.tables[0].lake.path)
    return FromProps(config, shown, tuple(build.notes), build.password is not None)


# --- helpers ---


def _validate(tree: Tree, build: PropsTree, place: Place) -> Config:
    try:
        return Config.model_validate(tree, context=place)
    except ValidationError as error:
        document = Document(values=tree, lines={location: entry.line for location, entry in build.origins.items()})
        raise _error(list(_wrongs(error, document, build.origins)), place) from None


def _wrongs(error: ValidationError, document: Document, origins: Mapping[Location, Property]) -> Iterator[Wrong]:
    for problem in locate_problems(error, document, Config):
        location = problem.location
        while location and location not in origins:
            location = location[:-1]
        origin = origins.get(location)
        key = ".".join(str(step) for step in problem.location) if origin is None else origin.key
        yield Wrong(problem.line, key, problem.text)


def _text(path: Path) -> str:
    fix = "name the properties file: hudi-reconcile pull --props FILE"
    try:
        content = read_small(path, _LARGEST_BYTES)
    except FileNotFoundError:
        raise ConfigError((f"{path}: there is no such file",), fix=fix) from None
    except OSError as error:
        raise ConfigError((f"{path}: cannot be read: {error.strerror}",), fix=fix) from error
    if len(content) > _LARGEST_BYTES:
        raise ConfigError((f"{path}: is larger than 1 MiB; no properties file is",), fix=fix)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ConfigError(
            (f"{path}:{line}: is not UTF-8 text",), fix="save the file as UTF-8, or write \\uXXXX"
        ) from None


def _error(wrong: list[Wrong], place: Place) -> ConfigError:
    return join_problems(((problem.line, problem.key, problem.text) for problem in wrong), place.file, fix=_FIX)
