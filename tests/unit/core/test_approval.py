"""Which approvals count: for exactly one plan, by others than those who plan and apply."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from hudi_reconcile.core.errors import RefusedError, UsageError
from hudi_reconcile.core.plan.approvals import Actor, Duties, find_approval, parse_name, refuse_own_word
from hudi_reconcile.core.result_parts import Approved
from tests.unit.core.test_plan import PLAN

SERVICE, ALICE, BOB = Actor("svc", "svc@batch"), Actor("alice", "alice@desk"), Actor("bob", "bob@desk")


def word(who: Actor, **changes: object) -> Approved:
    given = Approved(PLAN.plan_id, PLAN.run_id, PLAN.upserts, PLAN.deletes, who.name, who.login, "2026-11-21T12:00:00Z")
    return replace(given, **changes)  # type: ignore[arg-type]


def duties(
    planner: Actor | None = SERVICE, applier: Actor = SERVICE, *, apart: bool = True, by_login: bool = False
) -> Duties:
    return Duties(planner, applier, apart, by_login)


def test_newest_word_of_another_person_counts() -> None:
    assert find_approval(PLAN, [word(ALICE), word(BOB)], duties()) == word(BOB)
    assert find_approval(PLAN, [word(ALICE), word(SERVICE)], duties()) == word(ALICE)


@pytest.mark.parametrize(
    "said",
    [
        (),
        (word(ALICE, plan_id="0" * 64),),
        (word(ALICE, deletes=PLAN.deletes + 1),),
        (word(ALICE, upserts=PLAN.upserts + 1),),
    ],
    ids=["nobody", "another plan", "other deletes", "other upserts"],
)
def test_plan_that_nobody_approved_as_it_is_is_refused_with_the_command(said: tuple[Approved, ...]) -> None:
    with pytest.raises(RefusedError, match="approved by nobody") as raised:
        find_approval(PLAN, said, duties())

    assert raised.value.fix.endswith(f"hudi-reconcile approve {PLAN.run_id} -t orders --as NAME")
    assert [(guard.name, guard.ok) for guard in raised.value.guards] == [("approval", False)]


@pytest.mark.parametrize(
    ("planner", "applier"),
    [
        (ALICE, SERVICE),
        (SERVICE, ALICE),
        (Actor("ALICE ", "a@b"), SERVICE),
        (Actor("\uff21lice", "a@b"), SERVICE),
    ],
    ids=["planner", "applier", "name in other letters", "name in full width"],
)
def test_own_word_for_what_one_planned_or_applies_does_not_count(planner: Actor | None, applier: Actor) -> None:
    with pytest.raises(RefusedError, match=r"by alice \(alice@desk\) only"):
        find_approval(PLAN, [word(ALICE)], duties(planner, applier))

    assert find_approval(PLAN, [word(ALICE)], duties(planner, applier, apart=False)) == word(ALICE)


def test_same_login_under_another_name_counts_unless_logins_have_to_differ_too() -> None:
    same = duties(Actor("other name", "Alice@desk"), SERVICE)

    assert find_approval(PLAN, [word(ALICE)], same) == word(ALICE)
    with pytest.raises(RefusedError, match="only"):
        find_approval(PLAN, [word(ALICE)], replace(same, by_login=True))


@pytest.mark.parametrize(
    ("who", "by_login", "refused"),
    [(SERVICE, False, True), (Actor("SVC", "x@y"), False, True), (Actor("z", "svc@batch"), True, True),
     (Actor("z", "svc@batch"), False, False), (ALICE, True, False)],
)  # fmt: skip
def test_word_of_the_planner_is_refused_when_it_is_given(who: Actor, *, by_login: bool, refused: bool) -> None:
    with pytest.raises(RefusedError, match="is no other") if refused else nullcontext():
        refuse_own_word(PLAN, who, SERVICE, by_login=by_login)


def test_two_spellings_of_one_accent_are_one_name() -> None:
    typed = Actor("Jose\u0301", "j@laptop")

    with pytest.raises(RefusedError, match="only"):
        find_approval(PLAN, [word(typed)], duties(SERVICE, Actor("jos\u00e9", "svc@batch")))


def test_plan_that_does_not_say_who_made_it_cannot_be_approved_by_another() -> None:
    with pytest.raises(RefusedError, match="does not say who made it") as raised:
        find_approval(PLAN, [word(ALICE)], duties(None, SERVICE))

    assert raised.value.fix.startswith("sweep again")
    assert find_approval(PLAN, [word(ALICE)], duties(None, SERVICE, apart=False)) == word(ALICE)


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "x" * 101, "a\u202eb", "\x1b[31mred"])
def test_name_that_hides_something_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="printable"):
        parse_name(text)


def test_name_is_kept_without_the_blanks_around_it() -> None:
    assert parse_name("  Älice Müller <a@b>  ") == "Älice Müller <a@b>"
