"""A run as a message for a chat, in the shape that Slack's incoming webhooks take. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hudi_reconcile.report.safe import spell_hidden
from hudi_reconcile.report.words.advice import advise
from hudi_reconcile.report.words.verdict import trust_lines, write_verdict

Document = Mapping[str, Any]
_MOST_LETTERS = 3000


def build_message(run: Document) -> dict[str, str]:
    """Verdict, tables and what to do next, as one text."""
    step = advise(run)
    lines = [f"*hudi-reconcile {run['command']}: {run['outcome']}* (exit code {run['exit_code']}, run {run['run_id']})"]
    lines += [_plain(line) for line in (*trust_lines(run.get("trust", ())), write_verdict(run), step.sentence)]
    lines += [f"`{_plain(command)}`" for command in step.commands]
    text = "\n".join(lines)
    return {"text": text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…"}


def _plain(text: str) -> str:
    """Slack reads these three letters only as markup (https://docs.slack.dev, escaping text)."""
    return " ".join(spell_hidden(text).split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
