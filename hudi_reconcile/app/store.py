"""The runs of a config with the keys that seal their log, read when a run begins; and `plan.json` as it is written and shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from hudi_reconcile.app.host import write_utc
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.secrets import Secret, read_text_file
from hudi_reconcile.core.errors import ReconcileError, UsageError
from hudi_reconcile.core.plan.plan import Plan
from hudi_reconcile.core.plan.steps import build_plan_document
from hudi_reconcile.evidence.audit_log import NO_KEYS, KeyRing, audit_key
from hudi_reconcile.evidence.copies import copy_runs, find_place
from hudi_reconcile.evidence.store import Store


def open_store(config: Config, env: Mapping[str, str]) -> Store:
    """The store. Raises ConfigError where a key is missing, UsageError where it is too short."""
    return Store(config.reports, open_key_ring(config, env), config.reports_mode)


def open_key_ring(config: Config, env: Mapping[str, str]) -> KeyRing:
    """The keys of the config. Raises as `open_store` does."""

    def reveal(secret: Secret) -> str:
        return secret.reveal(env, read_text_file)

    audit = config.audit
    if audit.key is None and not audit.old_keys:
        return NO_KEYS
    current = None if audit.key is None else audit_key(reveal(audit.key), "audit.key")
    old = tuple(audit_key(reveal(old_key), "audit.old_keys") for old_key in audit.old_keys)
    return KeyRing(current, old, audit.unsealed_head)


def copy_finished(config: Config) -> tuple[str, ...]:
    """Copy the runs that `outputs.copy_to` lacks; returns lines for stderr. What cannot be copied changes no exit code."""
    if config.outputs.copy_to is None:
        return ()
    try:
        copy_runs(config.reports, find_place(config.outputs.copy_to))
    except ReconcileError as error:
        return (f"warning: outputs.copy_to: {error.message}; {error.fix}",)
    return ()


def select_tables(result: Mapping[str, Any], names: Collection[str]) -> list[Mapping[str, Any]]:
    """The tables of a run's result, or of these names. Raises UsageError for one that the run does not have."""
    known = [table["name"] for table in result["tables"]]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise UsageError(
            f"run {result['run_id']} has no table {', '.join(unknown)}", fix=f"use one of {', '.join(known)}"
        )
    return [table for table in result["tables"] if not names or table["name"] in names]


def read_key_ring(path: Path) -> KeyRing:
    """The key of a file, for whoever checks a log without its config. Raises UsageError where it cannot be read."""
    try:
        text = read_text_file(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the key file {path} cannot be read", fix="name another file: --key-file PATH") from error
    return KeyRing(audit_key(text.removesuffix("\n").removesuffix("\r"), str(path)))


def plan_document(plan: Plan) -> dict[str, Any]:
    """All of it follows from the plan itself."""
    return build_plan_document(
        plan, created_utc=write_utc(plan.created_micros), expires_utc=write_utc(plan.expires_micros)
    )
