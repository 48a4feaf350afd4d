"""`doctor`: every precondition, one line each, and the fix. Writes nothing and starts no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hudi_reconcile.cli.documents import head
from hudi_reconcile.cli.options import OutputFormat, Settings, format_option, pass_settings, table_option
from hudi_reconcile.cli.streams import emit, emit_json
from hudi_reconcile.core.outcome import Outcome

if TYPE_CHECKING:
    from hudi_reconcile.app.doctor_checks import Check

_NAME_WIDTH = 20


@click.command()
@table_option
@format_option
@pass_settings
def doctor(settings: Settings, tables: tuple[str, ...], output_format: OutputFormat) -> Outcome:
    """Check every precondition: ok, warn or fail, one line each, with the fix. Exits 2 where one fails."""
    from hudi_reconcile.app.doctor import checks  # noqa: PLC0415 - keeps the work rooms out of --help

    found: list[Check] = []
    for check in checks(settings.config_path, tables):
        found.append(check)
        if output_format == "text":
            emit(_line(check))
    outcome = Outcome.USAGE if any(check.status == "fail" for check in found) else Outcome.CLEAN
    if output_format == "json":
        document = head("doctor", outcome, error=_error(found))
        emit_json({**document, "checks": [asdict(check) for check in found]})
    else:
        emit(_summary(found))
    return outcome


def _line(check: Check) -> str:
    fix = f"  -> {check.fix}" if check.fix else ""
    return f"{check.status:<4}  {check.name:<{_NAME_WIDTH}}  {check.detail}{fix}"


def _summary(found: Sequence[Check]) -> str:
    counts = {status: sum(check.status == status for check in found) for status in ("ok", "warn", "fail")}
    return f"{counts['ok']} ok, {counts['warn']} warn, {counts['fail']} fail"


def _error(found: Sequence[Check]) -> dict[str, object] | None:
    bad = [check for check in found if check.status == "fail"]
    if not bad:
        return None
    names = ", ".join(check.name for check in bad)
    return {"type": "UsageError", "message": f"{len(bad)} of {len(found)} checks failed: {names}", "fix": bad[0].fix}
