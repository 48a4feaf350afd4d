"""Hostile reconcile.yaml: refused with exit 2, or accepted and shown as YAML 1.2 and decimal arithmetic say that it means."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from tests.support.fuzzed import told

RICH = """\
version: 1
source:
  url: postgresql+psycopg://reader@127.0.0.1:1/shop
  password: "${env:NO_SUCH}"
  time_zone: Europe/Vienna
  max_connections: 4
  statement_timeout: 5m
spark: {master: "local[1]", conf: {spark.ui.enabled: false, spark.sql.shuffle.partitions: 4, spark.x: 0.10}}
jars: {mode: auto, paths: []}
reports: reports
outputs: {junit: junit.xml, webhook: {url: "https://h/x", on: [drift]}, github: false}
audit: {retention: 30d, hold: false}
run: {time_limit: 2h}
tables:
  - name: orders
    source: {table: public.orders, key: [order_id], columns: [order_id, note, updated_at, day, amount], where: "order_id > 7"}
    pull: {strategy: timestamp, watermark: [updated_at], overlap: 90s, limit: 1000, on_error: full, watermark_text: false}
    lake: {path: lake/orders, type: merge_on_read, partition_by: ["day(day)"], options: {hoodie.parquet.max.file.size: 1000}}
    compare: {exclude: [note], rename: {note: remark}, tolerance: {amount: 0.01}}
    sweep: {mode: stream, segments: 16, settle: 500ms, settle_limit: 5s, rotation: 3, max_duty: 50%, snapshot: none,
            pause: {file: stop, statements: 5, lag: 30s, limit: 10m}}
    policy: {max_deletes: 10, max_delete_share: 0.1%, max_upsert_share: 0.25, max_plan_age: 2h, savepoint: always}
    mask: {note: redact}
    personal: hmac
    time_limit: 30m
"""
NASTY = [
    "null", "~", "true", "yes", "0", "-1", "1.0", "010", "0x10", "0b1", "1_000", "1_0", "1e3", "1e999", ".inf",
    ".nan", "9" * 30, "9" * 5_000, "1e999999999", "0.1000000000000000000001", "5%", "100.1%", "0.0000000001%", "1s",
    "99999999999d", "36500d", "''", "' '", '"\\x1b[31m"', '"\\0"', '"\\u202e"', "${env:HOME}", "${file:/dev/zero}",
    "${env:", "$${", "&a b", "*a", "!!int 1", "[]", "{}", "[a, a]", "{a: 1, a: 2}", "? x", "|\n  x", "--- ",
    "2026-01-01", "12:30:00", "::error::x", "~/x", "/etc/passwd", "../x", "day(x)", "A", "ORDERS", "result.json",
    "_hoodie_x", "a" * 300, "\t", "\n", "\r", "\u2028", "\x85", "\ufeff", "#", ": ",
]  # fmt: skip
BYTES = [one.encode() for one in NASTY] + [b"\xff", b"\xc3", b"\x00", b"\x1b", b"\xed\xa0\x80"]
AT = st.sampled_from(range(len(RICH)))
SMALL = [b"0", b"1", b"9", b"a", b"_", b"x", b"", b" ", b"#", b"'", b".", b"/", b"e", b"-"]
WILD = st.tuples(AT, st.integers(0, 40), st.sampled_from(BYTES) | st.binary(max_size=4))
MILD = st.tuples(AT, st.integers(0, 1), st.sampled_from(SMALL))
EDITS = st.lists(MILD, min_size=1, max_size=3) | st.lists(WILD, min_size=1, max_size=3)
UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
DURATIONS = {"statement_timeout", "retention", "overlap", "settle", "settle_limit", "max_plan_age", "time_limit"}
SHARES = {"max_duty", "max_delete_share", "max_upsert_share"}
PATHS = {"reports", "junit", "prometheus", "ndjson", "file", "rules", "path", "paths"}


class TwiceError(Exception):
    """A key that stands twice in one mapping."""


def tree_of(node: Node) -> Any:
    """A document by another reader: mappings, lists, and (tag, text) of scalars."""
    if isinstance(node, MappingNode):
        found: dict[str, Any] = {}
        for key, value in node.value:
            if key.value in found:
                raise TwiceError(key.value)
            found[key.value] = tree_of(value)
        return found
    if isinstance(node, SequenceNode):
        return [tree_of(one) for one in node.value]
    return str(node.tag).rsplit(":", 1)[-1], node.value


def number_of(tag: str, text: str) -> Decimal | None:
    """What YAML 1.2 says that a number is."""
    if tag == "int":
        return Decimal(int(text.replace("_", ""), {"0o": 8, "0x": 16}.get(text[:2], 10)))
    return (
        Decimal(text.replace("_", "")) if tag == "float" and text.lower().strip("+-.") not in ("inf", "nan") else None
    )


def holds(shown: Any, written: Any, place: tuple[str, ...], folder: Path) -> None:
    """What the file says stands in the resolved config, with the same meaning; nothing that it says is missing there."""
    if isinstance(written, dict):
        assert isinstance(shown, dict), place
        for key, value in written.items():
            assert key in shown, (place, key)
            holds(shown[key], value, (*place, key), folder)
    elif isinstance(written, list):
        assert isinstance(shown, list), place
        assert len(shown) == len(written), place
        for one, other in zip(shown, written, strict=True):
            holds(one, other, place, folder)
    else:
        assert is_same(shown, *written, place=place, folder=folder), (place, shown, written)


def is_same(shown: Any, tag: str, text: str, *, place: tuple[str, ...], folder: Path) -> bool:
    if shown == "***" or "${" in text:  # secrets and references are never shown
        return "***" in str(shown) or "$${" in text
    if tag == "null":
        return shown is None
    if tag == "bool":
        return shown is (text.lower() == "true") or shown == text.lower()
    is_named = place[-2:-1] and place[-2] in ("rename", "tolerance", "mask", "conf", "options", "jdbc")
    last = place[-2] if is_named else next(one for one in reversed(place) if one)
    if (number := number_of(tag, text)) is not None:
        found = Decimal(shown[:-1]) / 100 if last in SHARES else Decimal(str(shown))
        return found == number and not isinstance(shown, bool)
    return is_same_text(shown, text, last, folder)


def is_same_text(shown: Any, text: str, key: str, folder: Path) -> bool:
    if key in DURATIONS:
        return millis(shown) == millis(text)
    if key in SHARES:
        return Decimal(shown[:-1]) == Decimal(text[:-1])
    if key == "partition_by":
        return "".join(str(shown).split()) == "".join(text.split())
    return shown == text or (key in PATHS and Path(shown) == folder / text)


def millis(text: str) -> int:
    unit = text.lstrip("0123456789")
    return int(text[: -len(unit)]) * UNITS[unit]


@contextmanager
def config_file(content: bytes) -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "c.yaml"
        path.write_bytes(content)
        yield path


def refused_or_meant(subject: str, content: bytes) -> None:
    with config_file(content) as path:
        ran = told(subject, "-c", str(path), "config", "show", "--format", "json", legal=(0, 2))
        document = json.loads(ran.out)
        if ran.code == 2:
            assert document["error"]["type"] == "ConfigError", document
            return
        node = YAML(typ="safe", pure=True).compose(content.decode("utf-8-sig"))
        holds(document["config"], tree_of(node), (), path.parent)


def test_rich_config_is_accepted_and_shown_as_it_means(monkeypatch: pytest.MonkeyPatch) -> None:
    with config_file(RICH.encode()) as path:
        assert "NO_SUCH is not set" in told("reconcile.yaml: as it is", "-c", str(path), "config", "validate").err
        monkeypatch.setenv("NO_SUCH", "x")
        assert told("reconcile.yaml: as it is", "-c", str(path), "config", "validate").code == 0
    refused_or_meant("reconcile.yaml: as it is", RICH.encode())


@given(EDITS)
@example([(RICH.index("1000"), 0, b"9" * 5_000)])
def test_config_of_changed_bytes_is_refused_or_means_what_is_shown(edits: list[tuple[int, int, bytes]]) -> None:
    content = RICH.encode()
    for at, length, put in edits:
        content = content[:at] + put + content[at + length :]

    refused_or_meant("reconcile.yaml: bytes", content)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_config_of_any_bytes_is_refused(content: bytes) -> None:
    refused_or_meant("reconcile.yaml: any bytes", content)


SCALARS = RICH.splitlines()
LEAVES = [(line, text) for line, text in enumerate(SCALARS) if ":" in text]


@given(st.data(), st.sampled_from(NASTY) | st.integers().map(str) | st.floats().map(str))
def test_config_of_any_value_at_any_key_is_refused_or_means_what_is_shown(data: st.DataObject, value: str) -> None:
    line, text = data.draw(st.sampled_from(LEAVES))
    places = [at for at, char in enumerate(text) if char == ":" and text[at + 1 : at + 2] in (" ", "")]
    at = data.draw(st.sampled_from(places))
    end = min((text.find(stop, at) for stop in (",", "}", "]") if text.find(stop, at) > 0), default=len(text))
    changed = f"{text[: at + 1]} {value}{text[end:]}"

    refused_or_meant("reconcile.yaml: values", "\n".join([*SCALARS[:line], changed, *SCALARS[line + 1 :]]).encode())


KEYS = [
    "name",
    "table",
    "limit",
    "path",
    "watermark",
    "Name",
    "names",
    "source",
    "x\x1b",
    "",
    "<<",
    "1",
    "null",
    "a" * 5_000,
]


@given(st.sampled_from(LEAVES), st.sampled_from(KEYS), st.sampled_from(NASTY))
def test_key_that_is_added_anywhere_is_refused_unless_it_is_known_there(
    place: tuple[int, str], key: str, value: str
) -> None:
    line, text = place
    indent = text[: len(text) - len(text.lstrip(" -"))].replace("-", " ")
    added = f"{indent}{json.dumps(key)}: {value}"

    refused_or_meant("reconcile.yaml: keys", "\n".join([*SCALARS[:line], added, *SCALARS[line:]]).encode())


@given(st.binary(max_size=100))
@example(b"\x1b]0;canary\x07")
@example(b"")
@example(b"\xff")
def test_secret_of_any_bytes_is_filled_in_and_never_shown(content: bytes) -> None:
    with config_file(RICH.replace('"local[1]"', '"${file:secret}"').encode()) as path:
        canary = b"QxCanary7" + content
        (path.parent / "secret").write_bytes(canary)
        ran = told("secrets", "-c", str(path), "config", "show", legal=(0, 2))
        assert "QxCanary7" not in ran.out + ran.err


COMMANDS = [
    "pull", "sweep", "apply latest", "run", "check", "plan latest", "findings latest", "history", "report latest",
    "audit verify", "config show", "config validate", "config schema", "rules lint", "changes", "approve latest",
    "diff latest", "state show",
]  # fmt: skip
READERS = [
    one for one in COMMANDS if one.split()[0] not in ("pull", "sweep", "apply", "run", "check", "changes", "state")
]
OPTIONS = [
    "-t orders", "-t", "--yes", "--format json", "--format text", "--format ndjson", "--format", "--full",
    "--dry-run", "--props", "--props x", "--approve-deletes 1", "--approve-deletes 1_000", "--approve-deletes ٣",
    f"--approve-deletes {'9' * 5_000}", "--budget 10m", "--budget 1e999", f"--budget {'9' * 5_000}d",
    "--older-than 99999999999d", "--older-than 1d", "--kind deleted", "--kind x", "--only upsert", "--accept x",
    "--from earliest", f"--from {'9' * 5_000}", "--to latest", "--type min-delta", "-c", "--help", "-q", "-v", "..",
    "\x1b[31m", "\udcff", "-1", "NaN", "💥", "::error::x", "*", "%s", "{0}", "\n", "--", "-o /dev/null",
]  # fmt: skip
CALLS = st.lists(st.sampled_from(OPTIONS), max_size=2)


def words_of(command: str, options: list[str]) -> list[str]:
    return [word for one in (command, *options) for word in one.split(" ")]


@given(st.sampled_from(COMMANDS), CALLS)
def test_any_words_without_a_config_end_with_an_exit_code_of_the_contract(command: str, options: list[str]) -> None:
    told("command lines without a config", "-c", "no-such-folder/reconcile.yaml", *words_of(command, options))


@given(st.sampled_from(READERS), CALLS)
def test_any_words_with_a_config_end_with_an_exit_code_of_the_contract(command: str, options: list[str]) -> None:
    with config_file(RICH.encode()) as path:
        told("command lines with a config", "-c", str(path), *words_of(command, options))
