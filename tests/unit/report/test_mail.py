"""The mail says what the report's head says, in what every mail reader shows, and short enough not to be cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from hudi_reconcile.core.result_parts import Corrections
from hudi_reconcile.report.page.html import COLOURS, MOST_TABLES, build_mail, render_mail
from hudi_reconcile.report.words.advice import advise
from hudi_reconcile.report.words.verdict import write_verdict
from tests.support.colours import contrast
from tests.unit.report.stories import ITEMS, ORDERS, RULES, Story, all_stories, run_of
from tests.unit.report.test_html import Elements

MOST_BYTES = 100_000  # beyond this a well-known reader cuts the mail


def mail(story: Story) -> str:
    return render_mail(build_mail(story.run, {name: plan["guards"] for name, plan in story.plans.items()}))


@pytest.mark.parametrize("ending", sorted(all_stories()))
def test_mail_is_made_of_what_every_reader_shows(stories: Mapping[str, Story], ending: str) -> None:
    page = mail(stories[ending])
    parsed = Elements(page)

    assert parsed.open == []
    assert not {"style", "script", "svg", "img", "link", "details", "form"} & set(parsed.counts)
    assert not [name for _, name, _ in parsed.attributes if name == "class" or name.startswith("on")]
    assert not [value for _, name, value in parsed.attributes if name == "style" and "var(" in str(value)]
    assert len(page.encode()) < MOST_BYTES


@pytest.mark.parametrize("ending", sorted(all_stories()))
def test_mail_says_verdict_next_step_and_every_table(stories: Mapping[str, Story], ending: str) -> None:
    story = stories[ending]
    text = " ".join(" ".join(Elements(mail(story)).text).split())

    step = advise(story.run, guards={name: plan["guards"] for name, plan in story.plans.items()})
    for said in (
        write_verdict(story.run),
        step.sentence,
        *step.commands,
        *(table["name"] for table in story.run["tables"]),
    ):
        assert " ".join(said.split()) in text


def test_tables_come_worst_first_and_those_without_room_are_counted() -> None:
    tables = [replace(ITEMS, name=f"t{number:03}") for number in range(200)]
    page = render_mail(build_mail(run_of("sweep", *tables, ORDERS), {}))

    assert page.index(">orders<") < page.index(">t000<")
    assert f"{201 - MOST_TABLES} more tables" in page
    assert len(page.encode()) < MOST_BYTES


def test_rules_that_failed_stand_beside_the_outcome_of_a_table_that_was_repaired() -> None:
    written = Corrections(upserts=6, deletes=3, applied=9)
    table = replace(ORDERS, corrections=written, verified_at="20261121133002417", rules=RULES[:2])
    repaired = Story(run_of("run", table), {}, {})

    told = " ".join(" ".join(Elements(mail(repaired)).text).split())

    assert "drift: 1 rule failed" in told


def test_values_of_a_run_are_no_markup() -> None:
    page = render_mail(build_mail(run_of("sweep", replace(ORDERS, name="<b>x\u202e")), {}))

    assert "&lt;b&gt;x⟨U+202E⟩" in page


@pytest.mark.parametrize("tone", sorted(COLOURS))
def test_words_stand_out_from_their_ground(tone: str) -> None:
    assert contrast(*COLOURS[tone]) >= 4.5
