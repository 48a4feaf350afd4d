"""Whether a plan may be applied by what people said of it: the two-person rule. Pure.

An approval names one plan by the hash of all that it is, so it never covers another plan, nor the same one after a byte of it
was changed. Names are what people typed or who they were logged in as; nothing here proves who that was.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from hudi_reconcile.core.errors import RefusedError, UsageError
from hudi_reconcile.core.plan.plan import Plan
from hudi_reconcile.core.result_parts import Approved, Guard

GUARD = "approval"
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: the name that is given, the login on a host, and the user id on a machine, which no variable changes.

    `uid` is that id at the machine's (`1000@4f9c…`); empty in what earlier versions wrote.
    """

    name: str
    login: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Duties:
    """Who planned and who applies. `apart`: neither may have approved; `by_login`: nor anybody with their login or user id.

    A plan of an older version does not say who made it. `borrowed` are words under a user id that their files do not belong
    to: they do not count.
    """

    planner: Actor | None
    applier: Actor
    apart: bool
    by_login: bool = False
    borrowed: frozenset[Approved] = frozenset()


class HiddenUserError(RefusedError):
    """This process is in a user namespace, which may show it another user id than it has."""


def parse_name(text: str) -> str:
    """The name without blanks around it. Raises UsageError for none, a long one, or one with characters that hide."""
    name = text.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise UsageError(
            f"a name of 1 to {_LONGEST_NAME} printable characters is needed", fix="for example: --as alice@example.com"
        )
    return name


def find_approval(plan: Plan, said: Iterable[Approved], duties: Duties) -> Approved:
    """The newest approval of exactly this plan that counts.

    Raises RefusedError where nobody approved it, or only people who planned it or are about to apply it, or where they have
    to be others than the planner and nobody knows who that is.
    """
    mine = [
        approval
        for approval in said
        if approval.plan_id == plan.plan_id and (approval.upserts, approval.deletes) == (plan.upserts, plan.deletes)
    ]
    if mine and duties.apart and duties.planner is None:
        raise _build_refusal(
            plan,
            "does not say who made it, so nobody knows who is another (policy.approver)",
            f"sweep again, then: {_write_approve_command('RUN', plan)}",
        )
    owned = [approval for approval in mine if approval not in duties.borrowed]
    other = [approval for approval in owned if not duties.apart or _is_other(approval, duties)]
    if other:
        return other[-1]
    if owned:
        why = f"was approved by {_names(owned)} only, who planned it or applies it (policy.approver)"
    elif mine:
        why = f"was approved by {_names(mine)}, whose files belong to another user id than they say (policy.approver)"
    else:
        why = "was approved by nobody (policy.require_approval)"
    raise _build_refusal(plan, why, f"let somebody look and say so: {_write_approve_command(plan.run_id, plan)}")


def refuse_own_word(plan: Plan, who: Actor, planner: Actor | None, *, by_login: bool) -> None:
    """Raises RefusedError for the word of whoever made the plan: where others have to approve it, it would never count."""
    if planner is not None and _is_same(who, planner, by_login=by_login):
        raise _build_refusal(
            plan,
            f"was made by {planner.name} ({planner.login}), and {who.name} ({who.login}) is no other (policy.approver)",
            f"let somebody else do it: {_write_approve_command(plan.run_id, plan)}",
        )


def refuse_borrowed_plan(plan: Plan) -> None:
    """Raises RefusedError for a plan whose sweep says another user id than its files belong to, or none."""
    raise _build_refusal(
        plan,
        "does not say truly who made it: its files belong to another user id (policy.approver)",
        f"sweep again, outside of user namespaces, then: {_write_approve_command('RUN', plan)}",
    )


def refuse_hidden_user(plan: Plan) -> None:
    """Raises HiddenUserError: where user ids have to differ, nobody in a user namespace has one that counts."""
    raise HiddenUserError(
        f"table {plan.table}: a user namespace hides who runs this, and user ids have to differ (policy.approver: other_login)",
        fix="run it as a user of the host, not in unshare -U nor in a rootless container; or let names alone differ:"
        " policy.approver: other",
    )


def _names(said: Iterable[Approved]) -> str:
    return ", ".join(dict.fromkeys(f"{approval.by} ({approval.login})" for approval in said))


def _write_approve_command(run_id: str, plan: Plan) -> str:
    return f"hudi-reconcile approve {run_id} -t {plan.table} --as NAME"


def _build_refusal(plan: Plan, why: str, fix: str) -> RefusedError:
    guards = (Guard(GUARD, 1, 0, ok=False, fix=fix),)
    return RefusedError(f"table {plan.table}: the plan of run {plan.run_id} {why}", fix=fix, guards=guards)


def _is_other(approval: Approved, duties: Duties) -> bool:
    people = [duties.applier, *([] if duties.planner is None else [duties.planner])]
    return not any(
        _is_same(Actor(approval.by, approval.login, approval.uid), who, by_login=duties.by_login) for who in people
    )


def _is_same(actor: Actor, other: Actor, *, by_login: bool) -> bool:
    if _fold(actor.name) == _fold(other.name):
        return True
    if not by_login:
        return False
    # One user id is one login, whatever it is called; one login may have other ids on two machines.
    return _fold(actor.login) == _fold(other.login) or ("" != actor.uid == other.uid)


def _fold(name: str) -> str:
    # One name typed on two keyboards: composed or not, full-width or not.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()
