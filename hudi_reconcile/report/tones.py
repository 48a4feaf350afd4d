"""How grave an outcome looks: one word for each, from which style sheets take colour and mark. Pure."""

from __future__ import annotations

from hudi_reconcile.core.outcome import Outcome

TONES = {
    Outcome.CLEAN: "good",
    Outcome.CORRECTED: "mended",
    Outcome.PULLED: "plain",
    Outcome.APPROVED: "plain",
    Outcome.DRIFT: "warn",
    Outcome.INCOMPLETE: "warn",
    Outcome.UNVERIFIED: "bad",
    Outcome.REFUSED: "bad",
    Outcome.USAGE: "bad",
}


def tone_of(outcome: str) -> str:
    """The tone of an outcome by its name; one that cannot be told, such as of an unreadable run, is bad.

    >>> tone_of("clean"), tone_of("unreadable")
    ('good', 'bad')
    """
    return TONES[Outcome(outcome)] if outcome in {one.value for one in Outcome} else "bad"
