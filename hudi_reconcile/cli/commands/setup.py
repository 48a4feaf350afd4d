"""`init`, `config`, `jars`, `demo` and `doctor`, before the first run: parse, one call to the app, render, exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from hudi_reconcile.cli.options import (
    DEFAULT_CONFIG,
    OutputFormat,
    Settings,
    choice_options,
    format_option,
    pass_settings,
)
from hudi_reconcile.cli.streams import complain, emit, emit_json, head, hush_stages
from hudi_reconcile.config.selection import TableChoice
from hudi_reconcile.config.show import FILES
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result_queries import add_config
from hudi_reconcile.core.source.proposal import build_proposals_document, describe_proposals
from hudi_reconcile.report.words.verdict import trust_lines

if TYPE_CHECKING:
    from hudi_reconcile.app.doctor.server import Check
    from hudi_reconcile.app.setup import ShownJar
    from hudi_reconcile.config.model import Config


@click.command()
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--from-props", "props", metavar="FILE", help="Write the config for a HoodieStreamer properties file.")
@click.option("--from-database", is_flag=True, help="Propose tables, keys, watermarks and strategies from a catalog.")
@click.option("--url", metavar="URL", help="The database, without a password. Default: the source of -c FILE.")
@click.option(
    "--password-ref", "password", metavar="REF", help="Where its password is: '${env:NAME}' or '${file:PATH}'."
)
@click.option("--schema", "schemas", multiple=True, metavar="NAME", help="Read this schema. Repeatable.")
@click.option("-t", "--table", "tables", multiple=True, metavar="PATTERN", help="Only these tables. Repeatable.")
@click.option("--exclude", "excludes", multiple=True, metavar="PATTERN", help="Leave these tables out. Repeatable.")
@click.option("--no-input", is_flag=True, help="Never ask for what is missing.")
@format_option
@pass_settings
def init(
    settings: Settings, folder: Path, *, from_database: bool, output_format: OutputFormat, **given: Any
) -> Outcome:
    """Write a commented config, one rules file (not with --from-...) and .gitignore into DIR (default: here).

    With --from-database the config is proposed from the catalog of --url URL, or of the source of -c FILE: each proposal with
    its reason, and with what the catalog does not tell.
    """
    if from_database:
        return _init_from_database(settings, folder, given, output_format)
    if unused := [name for name in _OF_A_DATABASE if given[name]]:
        option = {"password": "password-ref", "schemas": "schema", "tables": "table", "excludes": "exclude"}
        name = option.get(unused[0], unused[0])
        raise UsageError(f"--{name} is for --from-database", fix="hudi-reconcile init [DIR] --from-database --url URL")
    if not settings.is_plain:
        raise UsageError("init takes a folder, not -c, --profile or --set", fix="hudi-reconcile init [DIR]")
    props = given["props"]
    written = write_new(folder, FILES if props is None else convert_props(Path(props)))
    if output_format == "json":
        emit_json({**head("init", Outcome.CLEAN), "files": [str(path) for path in written]})
    else:
        emit("\n".join(f"wrote {path}" for path in written))
        emit(f"next: edit {written[0]}, then hudi-reconcile -c {written[0]} config validate")
    return Outcome.CLEAN


_OF_A_DATABASE = ("url", "password", "schemas", "tables", "excludes")


def _init_from_database(
    settings: Settings, folder: Path, given: Mapping[str, Any], output_format: OutputFormat
) -> Outcome:
    from hudi_reconcile.app.setup import CatalogRequest, propose_config  # noqa: PLC0415 - keeps work out of --help

    if given["props"] is not None:
        raise UsageError("--from-props and --from-database exclude each other", fix="give one of them")
    if (folder / "reconcile.yaml").exists():  # said before the database is asked
        refuse_overwriting([folder / "reconcile.yaml"])
    url, password, config = _find_database(settings, given)
    choice = TableChoice(given["tables"], (), given["excludes"])
    request = CatalogRequest(
        url=url, password=password, config=config, overlay=settings.overlay, schemas=given["schemas"], choice=choice
    )
    proposed = propose_config(request, folder, os.environ)
    for note in proposed.notes:
        complain(f"note: {note}")
    keeps = (folder / ".gitignore").exists()
    files = {name: text for name, text in proposed.files.items() if name != ".gitignore" or not keeps}
    written = write_new(folder, files)
    if output_format == "json":
        files_written = {"files": [str(path) for path in written], "notes": list(proposed.notes)}
        emit_json({**head("init", Outcome.CLEAN), **files_written, **build_proposals_document(proposed.tables)})
        return Outcome.CLEAN
    emit("\n".join((*(f"wrote {path}" for path in written), *describe_proposals(proposed.tables))))
    emit(f"next: read {written[0]}, then hudi-reconcile -c {written[0]} doctor")
    return Outcome.CLEAN


def _find_database(settings: Settings, given: Mapping[str, Any]) -> tuple[str | None, str | None, Path | None]:
    """URL and reference to its password, or the config whose source is meant; asked for on a terminal."""
    url, password = given["url"], given["password"]
    is_named = settings.config_path != DEFAULT_CONFIG
    if url is not None:
        if is_named:
            raise UsageError("--url and -c exclude each other", fix="give one of them")
        return url, password, None
    if password is not None:
        raise UsageError("--password-ref goes with --url", fix=_NAME_A_DATABASE)
    if is_named or DEFAULT_CONFIG.exists():
        return None, None, settings.config_path
    if given["no_input"] or not sys.stdin.isatty():
        raise UsageError("--from-database needs a database", fix=_NAME_A_DATABASE)
    url = click.prompt("Database URL, such as postgresql+psycopg://reader@db:5432/shop", err=True)
    asked = "Where its password is: ${env:NAME} or ${file:PATH}; empty for none"
    return url, click.prompt(asked, default="", show_default=False, err=True) or None, None


_NAME_A_DATABASE = (
    "hudi-reconcile init DIR --from-database --url postgresql+psycopg://reader@db:5432/shop "
    "--password-ref '${env:SHOP_PASSWORD}', or with the source of a config: hudi-reconcile -c FILE init DIR --from-database"
)


def convert_props(path: Path) -> dict[str, str]:
    """The files for the table of a properties file; what its user must know goes to stderr. Raises ConfigError."""
    from hudi_reconcile.app.setup import read_props  # noqa: PLC0415 - keeps the work rooms out of --help
    from hudi_reconcile.config.hoodiestreamer.tree import PASSWORD_VARIABLE  # noqa: PLC0415 - as above
    from hudi_reconcile.config.show import write_yaml  # noqa: PLC0415 - as above

    props, notes = read_props(path, Path("reports"))
    for note in notes:
        complain(f"note: {note}")
    if props.clear_password:
        complain(f"note: {path} holds the password; the config does not: set {PASSWORD_VARIABLE} before you use it")
    head = f"# Written from {path.name} by `hudi-reconcile init --from-props`; `hudi-reconcile init` shows every key.\n"
    return {"reconcile.yaml": f"{head}{write_yaml(props.tree)}\n", ".gitignore": FILES[".gitignore"]}


def write_new(folder: Path, files: dict[str, str]) -> tuple[Path, ...]:
    """Write files below a folder that is made if needed; all of them or, where one is there already, none.

    Raises:
        UsageError: some are there already, or the folder cannot be written.
    """
    paths = {folder / name: text for name, text in files.items()}
    if there := [path for path in paths if path.exists() or path.is_symlink()]:
        refuse_overwriting(there)
    try:
        for path, text in paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except OSError as error:
        raise UsageError(
            f"cannot write {error.filename or folder}: {error.strerror}", fix="name a folder that you may write to"
        ) from error
    return tuple(paths)


def refuse_overwriting(there: Sequence[Path]) -> NoReturn:
    """Raises UsageError for files that are there already."""
    shown = ", ".join(map(str, there))
    raise UsageError(f"init never overwrites: {shown}", fix="name another folder: hudi-reconcile init DIR")


@click.group()
def config() -> None:
    """Show or check the config; its JSON Schema."""


@config.command()
@format_option
@pass_settings
def show(settings: Settings, output_format: OutputFormat) -> Outcome:
    """Print the config with every default, and *** for secrets and for what came from ${...}."""
    from hudi_reconcile.config.load import load_with_references  # noqa: PLC0415 - keeps pydantic out of --help
    from hudi_reconcile.config.show import shown_tree, write_yaml  # noqa: PLC0415 - as above

    tree = shown_tree(load_with_references(settings.config_path, os.environ, overlay=settings.overlay))
    if output_format == "json":
        emit_json({**head("config show", Outcome.CLEAN), "config": tree})
    else:
        emit(write_yaml(tree))
    return Outcome.CLEAN


@config.command()
@format_option
@pass_settings
def validate(settings: Settings, output_format: OutputFormat) -> Outcome:
    """Say `ok`, or list all that is wrong with the config, each with its line, unset variables of secrets included."""
    from hudi_reconcile.config.secrets import require_variables  # noqa: PLC0415 - keeps pydantic out of --help
    from hudi_reconcile.config.trust import sentences  # noqa: PLC0415 - as above

    config = settings.load()
    require_variables(config.late_secrets, os.environ)
    tables, trust = [table.name for table in config.tables], sentences(config)
    if output_format == "json":
        document = {**head("config validate", Outcome.CLEAN), "file": str(settings.config_path), "tables": tables}
        emit_json({**document, "trust": list(trust)})
    else:
        for line in trust_lines(trust):
            emit(line)
        emit(f"{settings.config_path}: ok ({len(tables)} table{'s' if len(tables) > 1 else ''}: {', '.join(tables)})")
    return Outcome.CLEAN


@config.command()
@format_option
def schema(output_format: OutputFormat) -> Outcome:  # noqa: ARG001 - a schema is JSON either way
    """Print the JSON Schema of the config, for editors. Needs no config."""
    from hudi_reconcile.config.show import json_schema  # noqa: PLC0415 - keeps pydantic out of --help

    emit_json(json_schema())
    return Outcome.CLEAN


@click.group()
def jars() -> None:
    """List or fetch the jars that Spark needs."""


@jars.command("list")
@format_option
@pass_settings
def list_(settings: Settings, output_format: OutputFormat) -> Outcome:
    """Show every jar that a session loads: where it is, or that it must be fetched, and its sha256."""
    from hudi_reconcile.app.setup import list_jar_files  # noqa: PLC0415 - keeps the work rooms out of --help

    _show("jars list", list_jar_files(_config(settings), os.environ), output_format)
    return Outcome.CLEAN


@jars.command()
@click.option("--to", "to", type=click.Path(path_type=Path), metavar="DIR", help="Default: the user's cache folder.")
@format_option
@pass_settings
def fetch(settings: Settings, to: Path | None, output_format: OutputFormat) -> Outcome:
    """Fetch the jars once, checked, so that later starts need no network. Done twice, it does nothing."""
    from hudi_reconcile.app.setup import fetch_jar_files  # noqa: PLC0415 - keeps the work rooms out of --help

    _show("jars fetch", fetch_jar_files(_config(settings), to, os.environ), output_format)
    if to is not None and output_format == "text":
        emit(f"to use them: export HUDI_RECONCILE_JARS={to.resolve()}")
    return Outcome.CLEAN


def _config(settings: Settings) -> Config | None:
    absent = settings.is_plain and not DEFAULT_CONFIG.exists()
    return None if absent else settings.load()


def _show(command: str, shown_jars: tuple[ShownJar, ...], output_format: OutputFormat) -> None:
    if output_format == "json":
        shown = [{"coordinate": jar.coordinate, "path": jar.path, "sha256": jar.sha256} for jar in shown_jars]
        emit_json({**head(command, Outcome.CLEAN), "jars": shown})
        return
    for jar in shown_jars:
        emit(f"{jar.coordinate or 'given by hand'}\n  {jar.path or 'not here yet: hudi-reconcile jars fetch'}")
        emit(f"  sha256 {jar.sha256}")


@click.command()
@click.option("--rows", type=int, default=20_000, show_default=True, metavar="N", help="Orders in the shop.")
@click.option(
    "--keep",
    "keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A new folder for config, Hudi table and reports. Without it only the reports are left, in a temporary folder.",
)
@format_option
def demo(rows: int, keep: Path | None, output_format: OutputFormat) -> Outcome:
    """Pull, drift, sweep, plan, apply and proof on a PostgreSQL and a Hudi table of its own. Needs no config."""
    from hudi_reconcile.app.demo import run_demo  # noqa: PLC0415 - keeps the work rooms out of --help

    as_json = output_format == "json"
    hush_stages()
    story = run_demo(rows, keep, complain if as_json else emit)
    if as_json:
        reports = [{"command": run.command, "outcome": run.outcome, "path": str(run.report)} for run in story.runs]
        emit_json({**head("demo", Outcome.CLEAN), "folder": str(story.folder), "rows": rows, "reports": reports})
    return Outcome.CLEAN


_NAME_WIDTH = 20


@click.command()
@choice_options
@format_option
@pass_settings
def doctor(settings: Settings, *, choice: TableChoice, output_format: OutputFormat) -> Outcome:
    """Check every precondition: ok, warn or fail, one line each, with the fix. Exits 2 where one fails."""
    from hudi_reconcile.app.doctor.checks import checks  # noqa: PLC0415 - keeps the work rooms out of --help

    all_checks: list[Check] = []
    for asked in checks(settings.config_path, choice, overlay=settings.overlay):
        check = replace(asked, fix=add_config(asked.fix, str(settings.config_path), settings.profile))
        all_checks.append(check)
        if output_format == "text":
            emit(_line(check))
    outcome = Outcome.USAGE if any(check.status == "fail" for check in all_checks) else Outcome.CLEAN
    if output_format == "json":
        document = head("doctor", outcome, error=_error(all_checks))
        emit_json({**document, "checks": [asdict(check) for check in all_checks]})
    else:
        emit(_summary(all_checks))
    return outcome


def _line(check: Check) -> str:
    fix = f"  -> {check.fix}" if check.fix else ""
    return f"{check.status:<4}  {check.name:<{_NAME_WIDTH}}  {check.detail}{fix}"


def _summary(checks: Sequence[Check]) -> str:
    counts = {status: sum(check.status == status for check in checks) for status in ("ok", "warn", "fail")}
    return f"{counts['ok']} ok, {counts['warn']} warn, {counts['fail']} fail"


def _error(checks: Sequence[Check]) -> dict[str, object] | None:
    bad = [check for check in checks if check.status == "fail"]
    if not bad:
        return None
    names = ", ".join(check.name for check in bad)
    return {"type": "UsageError", "message": f"{len(bad)} of {len(checks)} checks failed: {names}", "fix": bad[0].fix}
