"""Hostile properties files: read as java.util.Properties reads them, and refused or turned into a config that says the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given
from hypothesis import strategies as st

from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.hoodiestreamer.properties import PropertiesError, parse_properties
from hudi_reconcile.config.hoodiestreamer.tree import parse_props
from tests.support.fuzzed import parsed, told

RICH = """\
hoodie.streamer.jdbc.password=QxCanary7
hoodie.streamer.jdbc.url=jdbc:postgresql://127.0.0.1:1/shop
hoodie.streamer.jdbc.user=reader
hoodie.streamer.jdbc.table.name=public.orders
hoodie.streamer.jdbc.incr.pull=false
hoodie.streamer.jdbc.storage.level=MEMORY_AND_DISK_SER
hoodie.streamer.jdbc.extra.options.fetchsize=1000
hoodie.table.name=orders
hoodie.base.path=lake/orders
hoodie.datasource.write.recordkey.field=order_id,line
hoodie.datasource.write.partitionpath.field=day
hoodie.parquet.max.file.size=1000
"""
LINES = RICH.splitlines()
FIXED = ("hoodie.streamer.jdbc.url", "hoodie.streamer.jdbc.password")
VALUES = [
    "", " ", "x", "true", "TRUE ", "1_000", "9" * 5_000, "\\u001b[31m", "\\u0000", "\\u00", "\\", "${env:HOME}",
    "$${", "a,b,,c", ",", "(select 1 as a) x", "(", "day:TIMESTAMP", "../x", "~/x", "s3://b/x", "file:///x",
    "\u202e", "é", "MERGE_ON_READ", "::error::", "DISK_ONLY", "1e3", "0x10", "a=b", "a:b", "#x", "!x", "\\\n  y",
    "\\\r\n\ty", "\ud800",
]  # fmt: skip
# After the lines of URL and password: a line that goes on in the next one would take it for its value.
KEYS = [one.split("=")[0] for one in LINES if not one.startswith(FIXED)] + [
    "hoodie.streamer.jdbc.urll", "hoodie.x", "include", "HOODIE.TABLE.NAME", "hoodie.streamer.jdbc.extra.options.", "x\\ y", "",
]  # fmt: skip
ALPHABET = st.text(alphabet="a=: \t\f\\\n\r#!u0041éBn\x85\u2028\0", max_size=40)


def java_lines(text: str) -> Iterator[str]:
    """Logical lines by the words of Properties.load: an odd run of backslashes at the end of a line continues it."""
    natural = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    at = 0
    while at < len(natural):
        line = natural[at].lstrip(" \t\f")
        at += 1
        if not line or line[0] in "#!":
            continue
        while line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2:
            following = natural[at].lstrip(" \t\f") if at < len(natural) else ""
            at += 1
            # A lone backslash is an empty beginning: what follows may yet be a comment or blank.
            if line == "\\" and (not following or following[0] in "#!"):
                line = ""
                break
            line = line[:-1] + following
        if line:
            yield line


def java_pairs(text: str) -> list[tuple[str, str]]:
    """The pairs, key and value taken apart char by char as Properties.load0 does."""
    return [pair for line in java_lines(text) for pair in [java_pair(line)]]


def java_pair(line: str) -> tuple[str, str]:
    end, value_at, has_separator, is_escaped = 0, len(line), False, False
    while end < len(line):
        char = line[end]
        if char in "=:" and not is_escaped:
            value_at, has_separator = end + 1, True
            break
        if char in " \t\f" and not is_escaped:
            value_at = end + 1
            break
        is_escaped = not is_escaped if char == "\\" else False
        end += 1
    while value_at < len(line):
        char = line[value_at]
        if char not in " \t\f":
            if has_separator or char not in "=:":
                break
            has_separator = True
        value_at += 1
    return java_text(line[:end]), java_text(line[value_at:])


def java_text(text: str) -> str:
    """Escapes undone; ValueError for a malformed one, as Java's IllegalArgumentException."""
    units: list[int] = []
    at = 0
    while at < len(text):
        char, at = text[at], at + 1
        if char == "\\" and at < len(text):
            char, at = text[at], at + 1
            if char == "u":
                digits, at = text[at : at + 4], at + 4
                if len(digits) < 4 or set(digits) - set("0123456789abcdefABCDEF"):
                    raise ValueError(digits)
                units.append(int(digits, 16))
                continue
            char = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}.get(char, char)
        elif char == "\\":
            continue
        encoded = char.encode("utf-16-be", "surrogatepass")
        units += [int.from_bytes(encoded[one : one + 2], "big") for one in range(0, len(encoded), 2)]
    return b"".join(one.to_bytes(2, "big") for one in units).decode("utf-16-be", "replace")


@given(ALPHABET)
@example("a\\\n")
@example("\\\n\nb=c")
@example("a\\ b\\==c\\:d")
def test_text_is_read_as_java_reads_it(text: str) -> None:
    try:
        java: list[tuple[str, str]] | None = java_pairs(text)
    except ValueError:
        java = None
    try:
        ours: list[tuple[str, str]] | None = [(one.key, one.value) for one in parse_properties(text)]
    except PropertiesError:
        ours = None

    assert ours == java
    parsed("properties: against Java's rules", lambda: ours)


def refused_or_meant(subject: str, lines: list[str]) -> None:
    """`init --from-props` refuses the file, or writes a config that is right, holds no password and names what the file names."""
    with TemporaryDirectory() as name:
        folder, text = Path(name), "\n".join(lines)
        (folder / "x.properties").write_bytes(text.encode("utf-8", "surrogatepass"))
        ran = told(subject, "init", str(folder / "out"), "--from-props", str(folder / "x.properties"), legal=(0, 2))
        assert "QxCanary7" not in ran.out + ran.err
        if ran.code != 0:
            return
        written = (folder / "out" / "reconcile.yaml").read_text()
        assert "QxCanary7" not in written
        shown = told(subject, "-c", str(folder / "out" / "reconcile.yaml"), "config", "show", "--format", "json")
        assert shown.code == 0, written
        (table,) = json.loads(shown.out)["config"]["tables"]
    java = {key.lower(): value for key, value in java_pairs(text)}
    assert table["source"]["table"] or table["source"]["query"] in java["hoodie.streamer.jdbc.table.name"]
    assert table["name"] == java.get("hoodie.table.name", table["name"])
    for key, value in table["lake"]["options"].items():
        assert java[key] == value
    if table["source"]["table"] is not None and "${" not in java["hoodie.streamer.jdbc.table.name"]:
        assert table["source"]["table"] == java["hoodie.streamer.jdbc.table.name"]


def test_rich_properties_are_a_config() -> None:
    place = Place("x", Path("/base"))
    assert parsed("properties: as they are", lambda: parse_props(RICH, place, Path("reports"))) is not None
    refused_or_meant("properties: as they are", LINES)


@given(st.sampled_from(KEYS), st.sampled_from(VALUES), st.sampled_from(range(2, len(LINES))), st.integers(0, 1))
def test_properties_of_any_value_at_any_key_are_refused_or_a_config_that_says_the_same(
    key: str, value: str, line: int, replaced: int
) -> None:
    lines = [one for one in LINES if not (replaced and one.startswith(f"{key}="))]

    refused_or_meant("properties: values", [*lines[:line], f"{key}={value}", *lines[line:]])


@given(st.sampled_from(range(RICH.index("hoodie.streamer.jdbc.table"), len(RICH))), st.integers(0, 3), ALPHABET)
def test_properties_of_changed_text_are_refused_or_a_config_that_says_the_same(at: int, length: int, put: str) -> None:
    refused_or_meant("properties: text", (RICH[:at] + put[:6] + RICH[at + length :]).splitlines())
