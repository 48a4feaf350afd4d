"""An approval as a value: what `approve` leaves and `apply` looks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Approved:
    """One person's word for one plan. `run_id` is the run that made the plan; `login` and `uid` are who ran the command, where.

    `uid` is empty in the words of earlier versions.
    """

    plan_id: str
    run_id: str
    upserts: int
    deletes: int
    by: str
    login: str
    at_utc: str
    uid: str = ""
