"""PURE: the config that `init --from-database` writes: proposals as YAML, each line with its reason, and never a secret."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hudi_reconcile.config.compose import compose
from hudi_reconcile.config.fields import Location, Place, parse_scalar
from hudi_reconcile.config.layers import read_node
from hudi_reconcile.config.load import is_secret, parse_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.overlay import Overlay
from hudi_reconcile.config.secrets import Environment, ReadFile, Template
from hudi_reconcile.config.show import GITIGNORE, Tree, write_yaml
from hudi_reconcile.config.tables import folder_name
from hudi_reconcile.config.yaml_document import read_document
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.source.proposal import Proposed, TableProposal

TABLES_A_FILE = 300  # a config file holds 1 MiB and 100,000 values
_LONGEST_NAME = 90
_COPIED = ("source", "spark", "jars")
_NO_TABLES = "\ntables: [{name: none, source: {table: none}, lake: {path: lake/none}}]\n"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.+]*|(?:day|month|year)\([A-Za-z_][A-Za-z0-9_]*\)")
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off"})  # what YAML 1.1 takes for true and false
_FILE = re.compile(r"\$\{file:([^}]+)\}")
_HEAD = """\
# Written by `hudi-reconcile init --from-database` from the catalog of {place}. No row was read.
# Each line says why it was proposed; "not known" is what no catalog tells. Deleted rows are found by sweeps alone.
# Relative paths start at this file. `hudi-reconcile init OTHER` writes a config that shows every key.
"""
_LEFT_OUT = """
# Left out: {count:,}. To take one in, complete its line and remove the `#` before it; the line belongs below `tables:`.
"""


@dataclass(frozen=True, slots=True)
class SourceBase:
    """Where the catalog is: as a config to connect with, and as the sections to write. `notes` are for people."""

    config: Config
    tree: Tree
    notes: tuple[str, ...] = ()


def source_text(url: str, password: str | None) -> str:
    """A config of nothing but a source. `password` is a reference; raises UsageError where it is something else."""
    source: Tree = {"url": url}
    if password is not None:
        try:
            is_reference = Template.parse(password).is_one_reference
        except ValueError:
            is_reference = False
        if not is_reference:
            raise UsageError(
                "--password-ref is not a reference to a password: a password itself would be seen by other users",
                fix="write '${env:NAME}' or '${file:PATH}', in single quotes, and nothing else",
            )
        source["password"] = password
    return write_yaml({"version": 1, "source": source})


def read_base(
    text: str, place: Place, env: Environment, read_file: ReadFile, overlay: Overlay, *, folder: Path
) -> SourceBase:
    """The source of a config text, which needs no tables, as a config in `folder` would have it.

    References stay references. A secret that stands in the text itself becomes one.

    Raises:
        ConfigError: anything in the text is wrong.
        UsageError: there is no such profile.
    """
    values = read_document(text).values
    has_tables = not isinstance(values, dict) or bool({"tables", "include"} & values.keys())
    config = parse_config(text if has_tables else text + _NO_TABLES, place, env, read_file, overlay).config
    layered, _ = compose(read_node(read_document(text), place.file, 0), (), overlay)
    merged_values = layered.document.values
    tree = (
        {key: merged_values[key] for key in _COPIED if key in merged_values} if isinstance(merged_values, dict) else {}
    )
    notes: list[str] = []
    away = place.folder.resolve() != folder.resolve()
    moved = {key: _move_value(value, (key,), place.folder if away else None, notes) for key, value in tree.items()}
    return SourceBase(config, {"version": 1, **moved}, tuple(notes))


def legal_name(title: str) -> str:
    """The title as a table of a config may be called.

    >>> legal_name("sales.Order Items"), legal_name("-x."), legal_name("result.json")
    ('sales.Order_Items', '_-x', 'result.json_')
    """
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", title)[:_LONGEST_NAME].rstrip(".") or "table"
    name = name if name[0] not in ".-" else f"_{name}"
    try:
        return folder_name(name)
    except ValueError:
        return f"{name}_"


def proposed_files(base: SourceBase, proposals: Sequence[TableProposal], place: str) -> dict[str, str]:
    """Every file of the config by its name: one for each TABLES_A_FILE tables where there are more than these."""
    taken = [proposal for proposal in proposals if not proposal.hindrance]
    left_out = [proposal for proposal in proposals if proposal.hindrance]
    head = _HEAD.format(place=show_line(place)) + write_yaml(base.tree) + "\n"
    pieces = [taken[at : at + TABLES_A_FILE] for at in range(0, len(taken), TABLES_A_FILE)]
    files = {}
    if len(pieces) > 1:
        names = [f"tables/{number:03}.yaml" for number in range(1, len(pieces) + 1)]
        files = {
            name: "".join(("tables:\n", *map(table_text, piece))) for name, piece in zip(names, pieces, strict=True)
        }
        body = "".join(("include:\n", *(f"  - {name}\n" for name in names)))
    else:
        body = "".join(("tables:\n", *map(table_text, taken)))
    rest = "".join(map(_left_out_text, left_out))
    end = _LEFT_OUT.format(count=len(left_out)) + rest if left_out else ""
    if len(end) + len(head) + len(body) > LARGEST_MAIN:
        files["left-out.yaml"], end = end, "\n# Tables that are left out, and why: left-out.yaml\n"
    return {"reconcile.yaml": f"{head}\n{body}{end}", **files, ".gitignore": GITIGNORE}


LARGEST_MAIN = 500_000


def table_text(proposal: TableProposal) -> str:
    """One table as an entry of `tables`, a line for each key that is proposed, and the reason behind it."""
    rows = "" if proposal.table.rows is None else f"about {proposal.table.rows:,} rows by the catalog"
    lines = [
        f"  - name: {spell(proposal.name)}",
        "    source:",
        _line("table", spell(proposal.table.sql), rows),
        _line("key", _list(proposal.key), proposal.key.why),
        "    pull:",
        _line("strategy", proposal.strategy.values[0], proposal.strategy.why),
    ]
    if proposal.watermark.values:
        lines.append(_line("watermark", _list(proposal.watermark), proposal.watermark.why))
    if proposal.incrementing.values:
        lines.append(_line("incrementing", spell(proposal.incrementing.values[0]), proposal.incrementing.why))
    lines += [f"      # not known: {show_line(text)}" for text in proposal.unknown]
    lines += ["    lake:", _line("path", f"lake/{proposal.name}", "")]
    if proposal.partition_by.values:
        lines.append(_line("partition_by", _list(proposal.partition_by), proposal.partition_by.why))
    if proposal.rename:
        lines += ["    compare:", _line("rename", _mapping(proposal.rename), "the lake cannot hold these names")]
    return "".join(f"{line}\n" for line in lines)


def spell(text: str) -> str:
    """A text as YAML, also within brackets, which is read back as that text and not as a reference.

    >>> spell("public.orders"), spell("null"), spell("Order Items")
    ('public.orders', '"null"', '"Order Items"')
    """
    return _spell(text.replace("${", "$${"))


def show_line(text: str) -> str:
    r"""The text as one line that a comment may hold.

    >>> show_line("a\nb\x1b[31m")
    'a b\\x1b[31m'
    """
    return "".join(_character(character) for character in " ".join(text.split()))


# --- helpers ---


def _move_value(value: object, location: Location, folder: Path | None, notes: list[str]) -> object:
    """The value as a config of another folder means it; `folder` is where it was, None where that stays the same."""
    if isinstance(value, Mapping):
        return {key: _move_value(member, (*location, key), folder, notes) for key, member in value.items()}
    if isinstance(value, list):
        return [_move_value(member, (*location, index), folder, notes) for index, member in enumerate(value)]
    if is_secret(location, value) and value is not None and not (isinstance(value, str) and "${" in value):
        variable = "HUDI_RECONCILE_" + re.sub(r"\W", "_", "_".join(map(str, location)), flags=re.ASCII).upper()
        notes.append(f"{'.'.join(map(str, location))} is a secret, and not copied: set {variable}")
        return f"${{env:{variable}}}"
    if folder is None or not isinstance(value, str):
        return value
    if location[:2] == ("jars", "paths") and "${" not in value:
        return str(folder / value)
    return _FILE.sub(lambda match: f"${{file:{folder / match[1]}}}", value)


def _left_out_text(proposal: TableProposal) -> str:
    """Why a table is left out, and how it would stand in the config: both as comments."""
    pull = f"strategy: {proposal.strategy.values[0]}"
    if proposal.watermark.values:
        pull += f", watermark: {_list(proposal.watermark)}"
    if proposal.incrementing.values:
        pull += f", incrementing: {spell(proposal.incrementing.values[0])}"
    rename = f", compare: {{rename: {_mapping(proposal.rename)}}}" if proposal.rename else ""
    entry = f"source: {{table: {spell(proposal.table.sql)}, key: {_list(proposal.key)}}}, pull: {{{pull}}}{rename}"
    return (
        f"# {show_line(proposal.table.sql)}: {show_line(proposal.hindrance)}\n"
        f"#  - {{name: {spell(proposal.name)}, {entry}, lake: {{path: lake/{proposal.name}}}}}\n"
    )


def _line(key: str, value: str, why: str) -> str:
    text = f"      {key}: {value}"
    return f"{text:<38}  # {show_line(why)}" if why else text


def _list(choice: Proposed) -> str:
    return f"[{', '.join(map(spell, choice.values))}]"


def _mapping(names: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{_spell(name)}: {spell(new)}" for name, new in names.items()) + "}"


def _spell(text: str) -> str:
    if _PLAIN.fullmatch(text) and parse_scalar(text) == text and text.lower() not in _WORDS:
        return text
    return '"' + "".join(_quote_characters(text)) + '"'


def _quote_characters(text: str) -> Iterator[str]:
    return (f"\\{character}" if character in '"\\' else _character(character) for character in text)


def _character(character: str) -> str:
    """The character, or an escape that YAML reads back where a reader of YAML or a terminal would not take it as it is."""
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004
