"""The man page, made of click's own commands: `make man` writes docs/hudi-reconcile.1, which the wheel carries."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from hudi_reconcile import __version__
from hudi_reconcile.cli.main import group
from hudi_reconcile.cli.registry import FAMILIES
from hudi_reconcile.core.outcome import Outcome

TOOL = "hudi-reconcile"
_FILES = (
    ("reconcile.yaml", "The config, unless -c names another. `config schema` prints its JSON Schema."),
    ("reports/", "A folder for each run, and audit.jsonl, the log of all runs."),
    ("~/.cache/hudi-reconcile", "Jars, and classes that Java loaded."),
)
_VARIABLES = (
    ("HUDI_RECONCILE_JARS", "A folder with the jars, for machines without network."),
    ("JAVA_HOME", "The Java that Spark starts with: 17 or 21."),
    ("SPARK_LOCAL_DIRS", "Where Spark keeps rows while it works."),
)


def page() -> str:
    """The page as roff."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    context = click.Context(group, info_name=TOOL, **group.context_settings)
    yield f'.TH "HUDI\\-RECONCILE" "1" "" "hudi\\-reconcile {_text(__version__)}" "User Commands"'
    yield ".ad l"
    yield from (
        ".SH NAME",
        f"{_text(TOOL)} \\- find where a Hudi table has drifted from its source, and correct it with proof",
    )
    yield from (".SH SYNOPSIS", f".B {_text(TOOL)}", "[\\-c FILE] [OPTIONS] COMMAND [ARGS]...")
    yield from (".SH DESCRIPTION", *_paragraphs(group.help or ""))
    yield from (".SH OPTIONS", *_options(group, context))
    for title, entries in FAMILIES:
        yield f'.SH "{title.upper()} COMMANDS"'
        for entry in entries:
            yield from _command(entry.load(), context, entry.name)
    yield ".SH EXIT STATUS"
    by_code: dict[int, list[str]] = {}
    for outcome in Outcome:
        by_code.setdefault(outcome.exit_code, []).append(outcome.value)
    for code, words in sorted(by_code.items()):
        yield from (".TP", f".B {code}", ", ".join(words))
    yield from (".TP", ".B 130, 143", "interrupted, terminated; the same command again is safe")
    for title, named in (("FILES", _FILES), ("ENVIRONMENT", _VARIABLES)):
        yield f".SH {title}"
        for name, meaning in named:
            yield from (".TP", f".B {_text(name)}", _text(meaning))


def _command(command: click.Command, parent: click.Context, name: str) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f'.SS "{_text(context.command_path.removeprefix(f"{TOOL} "))} {_text(usage)}"'
    yield from _paragraphs(command.help or "")
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None:
                yield from _command(found, context, below)
        return
    yield from _options(command, context)


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield from (".TP", f".B {_text(record[0])}", _text(record[1]))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        yield from (".PP", _text(" ".join(paragraph.split())))


def _text(text: str) -> str:
    """The text as roff takes it: no line is a request, a hyphen can be pasted."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    plain = "".join(one if one.isascii() else f"\\[u{ord(one):04X}]" for one in plain)
    return f"\\&{plain}" if plain[:1] in (".", "'") else plain


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 - the page is what this prints
