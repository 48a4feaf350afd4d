"""Hostile catalogs of sources and files of foreign lakes: names stay names in every dialect's SQL, all else is a named error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import pytest
import sqlglot
from hypothesis import example, given
from hypothesis import strategies as st
from sqlglot import exp

from hudi_reconcile.app.doctor.lake import check_lake
from hudi_reconcile.core.changes.consumers import parse_position
from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.plan.apply_outcome import parse_counts
from hudi_reconcile.core.pull.hoodiestreamer import read_position, spell_checkpoint
from hudi_reconcile.core.safe_text import escape_controls, list_avro_fields
from hudi_reconcile.core.source.proposal import UniqueKey
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.databases.base import TableRequest
from hudi_reconcile.databases.catalog import describe_table
from hudi_reconcile.databases.mysql import dialect as mysql
from hudi_reconcile.databases.postgres import dialect as postgres
from hudi_reconcile.lake.lease import parse_lease
from hudi_reconcile.lake.schema import list_unholdable_names, propose_names
from hudi_reconcile.lake.table import build_lake_table
from hudi_reconcile.lake.timeline import parse_checkpoint, parse_keys
from hudi_reconcile.ports import Origin
from hudi_reconcile.sql import reads
from tests.support.fuzzed import parsed
from tests.unit.app.test_doctor_lake import job

NASTY = [
    '"',
    "`",
    "]",
    "'",
    "\\",
    ";",
    "--",
    "/*",
    "\x1b[31m",
    "\n",
    "\u202e",
    "%s",
    ":x",
    "${env:A}",
    "{batch}",
    "c0",
    "💥",
    "a",
    "A",
]
NAMES = st.lists(st.sampled_from(NASTY) | st.text(max_size=3), min_size=1, max_size=5).map("".join)
LEGAL = NAMES.map(lambda name: name.encode("utf-8", "ignore").decode().replace("\0", "")).filter(bool)
DIALECTS = [(postgres, "postgres"), (mysql, "mysql")]
TYPES = st.sampled_from(["bigint", "numeric(38,10)", "text", "timestamp", "uuid", "x\x1b", "", "a" * 5_000]) | st.text(
    max_size=10
)


@given(LEGAL, st.sampled_from(DIALECTS))
@example('a"; drop table x; --', (postgres, "postgres"))
@example("a`; drop table x; -- \\", (mysql, "mysql"))
def test_name_of_a_column_is_one_identifier_to_a_parser_of_every_dialect(
    name: str, dialect: tuple[ModuleType, str]
) -> None:
    module, language = dialect
    quoted = parsed("names of columns", lambda: str(module.quote(name)))
    assert quoted is not None
    (statement,) = sqlglot.parse(f"select {quoted} from t", read=language)

    assert statement is not None
    (column,) = statement.find_all(exp.Column)
    assert column.name == name


@given(st.lists(st.tuples(LEGAL, TYPES, st.sampled_from(list(Kind))), max_size=5), LEGAL, st.integers(0, 4))
def test_table_of_any_columns_is_described_or_refused_by_name(
    found: list[tuple[str, str, Kind]], key: str, index: int
) -> None:
    columns = tuple(Column(name, kind, declared) for name, declared, kind in found)
    keys = [UniqueKey((columns[index % len(columns)].name if columns else key,), is_primary=True, is_proof=True)]

    def describe() -> SourceTable:
        return describe_table(TableRequest("t", key), columns, keys, name="t", identity="i", rows_estimate=1).table

    table = parsed("catalogs", describe)
    if table is not None:
        assert [one.name for one in table.columns] == [name for name, *_ in found]
        for module in (postgres, mysql):
            parsed("catalogs: statements", lambda m=module: reads.select_list(m, columns))  # type: ignore[misc]


@given(st.lists(LEGAL, max_size=6, unique=True), st.lists(LEGAL, max_size=3))
def test_names_that_are_proposed_for_the_lake_can_be_held_and_differ(names: list[str], taken: list[str]) -> None:
    found = propose_names(names, taken)
    parsed("names for the lake", lambda: found)

    assert list_unholdable_names(tuple(found.values())) == ()
    lower = [one.lower() for one in (*found.values(), *{one.lower() for one in taken})]
    assert len(set(lower)) == len(lower)


@given(NAMES)
def test_printed_name_obeys_no_terminal(name: str) -> None:
    assert "\x1b" not in escape_controls(name)
    assert "\u202e" not in escape_controls(name)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["1", "2025-01-01", "e"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["version", "there", "new", "x"]), inner)
    ),
    max_leaves=6,
)
GOOD = [
    '{"there":1,"new":2}',
    '{"written":2}',
    '{"version":1,"consumer":"c","instant":"20250101000000000","pending":null,"type":"upsert"}',
    '{"version":1,"holder":{"host":"h","scope":"s","pid":1,"started":"x"},"run":"r"}',
    '{"type":"record","name":"r","fields":[{"name":"a","type":["null",{"type":"long","logicalType":"timestamp-millis"}]}]}',
]
PUT = st.sampled_from(["", '"', "9", "{", "[" * 5_000, "null"])


@st.composite
def changed(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(GOOD))
    at, length = draw(st.sampled_from(range(len(text)))), draw(st.integers(0, 5))
    return text[:at] + draw(PUT) + text[at + length :]


DUMPED = VALUES.map(lambda value: json.dumps(value, sort_keys=False))
BOMBS = st.sampled_from(["[" * 100_000, "9" * 5_000, "1e999999999", '"\\ud800"'])
TEXTS = st.one_of(DUMPED, changed(), st.text(max_size=20), BOMBS)
PARSERS: list[Callable[[str], object]] = [
    parse_counts,
    parse_keys,
    parse_checkpoint,
    parse_lease,
    lambda text: parse_position(text, "c", "p"),
    lambda text: list(list_avro_fields(text)),
]


@pytest.mark.parametrize("parse", PARSERS)
@given(text=TEXTS)
def test_commit_metadata_of_any_writer_is_read_or_a_named_error(parse: Callable[[str], object], text: str) -> None:
    parsed("commit metadata", lambda: parse(text))


@given(
    st.sampled_from(list(Kind)),
    st.text(max_size=30)
    | st.decimals(allow_nan=True).map(str)
    | st.datetimes().map(str)
    | st.sampled_from(
        ["1e999999999", "9" * 5_000, "0001-01-01", "9999-12-31 23:59:59.999999", "0001-01-01T00:00:00+14:00"]
    ),
)
def test_checkpoint_of_any_writer_is_a_watermark_or_none(kind: Kind, text: str) -> None:
    found = parsed("checkpoints of HoodieStreamer", lambda: read_position(kind, text))

    if found is not None:
        assert found.earliest < found.latest  # type: ignore[operator]
        written = parsed("checkpoints of HoodieStreamer", lambda: spell_checkpoint(kind, found.latest))
        assert len(written or "") < 1_000


LINES = [
    "hoodie.table.name=orders", "hoodie.table.type=COPY_ON_WRITE", "hoodie.table.version=9",
    "hoodie.table.recordkey.fields=id", "hoodie.table.ordering.fields=ts",
    "hoodie.record.merge.mode=EVENT_TIME_ORDERING", "hoodie.table.partition.fields=day:simple",
    "hoodie.table.keygenerator.type=COMPLEX", "hoodie.table.cdc.enabled=true",
    "hoodie.table.metadata.partitions=files,x",
    'hoodie.table.create.schema={"fields"\\:[{"name"\\:"a","type"\\:"int"}]}', "hoodie.populate.meta.fields=false",
]  # fmt: skip
RESTS = [
    "",
    "x",
    "[]",
    "\\u00",
    "\x1b[31m",
    "9" * 5_000,
    "A,B,,",
    "[" * 100_000,
    "EVENT_TIME_ORDERING",
    "6",
    "-1",
    "TRUE",
    "a.b.C",
]


@given(
    st.lists(st.tuples(st.sampled_from(LINES), st.none() | st.sampled_from(RESTS)), max_size=14), st.binary(max_size=3)
)
def test_properties_of_any_table_are_told_by_the_doctor(lines: list[tuple[str, str | None]], end: bytes) -> None:
    texts = [line if rest is None else f"{line.split('=')[0]}={rest}" for line, rest in lines]
    with TemporaryDirectory() as folder:
        home = Path(folder) / ".hoodie"
        home.mkdir()
        (home / "hoodie.properties").write_bytes("\n".join([*LINES[:4], *texts]).encode() + end)
        checks = parsed("hoodie.properties", lambda: list(check_lake(job(folder), None, _no_origin)))
    assert checks
    properties = dict(line.split("=", 1) for line in texts if "=" in line)
    parsed("hoodie.properties", lambda: build_lake_table("/lake", properties, ()))


def _no_origin(path: str) -> Origin:
    raise LakeError(path, fix="none")
