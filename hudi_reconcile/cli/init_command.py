"""`init`: the files to start from. Writes three new files and never touches one that is there."""

from __future__ import annotations

from pathlib import Path

import click

from hudi_reconcile.cli.documents import head
from hudi_reconcile.cli.options import DEFAULT_CONFIG, OutputFormat, Settings, format_option, pass_settings
from hudi_reconcile.cli.streams import complain, emit, emit_json
from hudi_reconcile.config.template import FILES
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome


@click.command()
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--from-props", "props", metavar="FILE", help="Write the config for a HoodieStreamer properties file.")
@format_option
@pass_settings
def init(settings: Settings, folder: Path, props: str | None, output_format: OutputFormat) -> Outcome:
    """Write a commented config, one rules file and .gitignore into DIR (default: here)."""
    if settings.config_path != DEFAULT_CONFIG:
        raise UsageError("init takes a folder, not -c", fix="hudi-reconcile init [DIR]")
    written = write_new(folder, FILES if props is None else files_of_props(Path(props)))
    if output_format == "json":
        emit_json({**head("init", Outcome.CLEAN), "files": [str(path) for path in written]})
    else:
        emit("\n".join(f"wrote {path}" for path in written))
        emit(f"next: edit {written[0]}, then hudi-reconcile -c {written[0]} config validate")
    return Outcome.CLEAN


def files_of_props(path: Path) -> dict[str, str]:
    """The files for the table of a properties file; what its user must know goes to stderr. Raises ConfigError."""
    from hudi_reconcile.app.props import read_props  # noqa: PLC0415 - keeps the work rooms out of --help
    from hudi_reconcile.config.props_tree import PASSWORD_VARIABLE  # noqa: PLC0415 - as above
    from hudi_reconcile.config.show import as_yaml  # noqa: PLC0415 - as above

    found, notes = read_props(path, Path("reports"))
    for note in notes:
        complain(f"note: {note}")
    if found.clear_password:
        complain(f"note: {path} holds the password; the config does not: set {PASSWORD_VARIABLE} before you use it")
    head = f"# Written from {path.name} by `hudi-reconcile init --from-props`; `hudi-reconcile init` shows every key.\n"
    return {"reconcile.yaml": f"{head}{as_yaml(found.tree)}\n", ".gitignore": FILES[".gitignore"]}


def write_new(folder: Path, files: dict[str, str]) -> tuple[Path, ...]:
    """Write files below a folder that is made if needed; all of them or, where one is there already, none.

    Raises:
        UsageError: some are there already, or the folder cannot be written.
    """
    paths = {folder / name: text for name, text in files.items()}
    there = [str(path) for path in paths if path.exists() or path.is_symlink()]
    if there:
        raise UsageError(
            f"init never overwrites: {', '.join(there)}", fix="name another folder: hudi-reconcile init DIR"
        )
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
