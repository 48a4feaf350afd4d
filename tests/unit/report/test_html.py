"""The page is one inert file: values cannot become markup, nothing is fetched, and every number is on it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Corrections
from hudi_reconcile.report.page.html import render_report
from tests.unit.report.stories import RUN_ID, Document, Story, all_stories, earlier, finding, in_lake, run_of, side

NASTY = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}",
    "</style><p>",
    "\x00\x1b[2J\u202e",
]
TEXTS = st.one_of(st.text(min_size=1, max_size=40), st.sampled_from(NASTY))
VOID = {"meta", "col", "wbr"}


class Elements(HTMLParser):
    """Counts elements, collects attributes and text, and holds that every element is closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.counts: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def attribute_names(self) -> Counter[str]:
        """Names of all attributes; `class` is left out, as text of several lines gets one of its own."""
        return Counter(name for _, name, _ in self.attributes if name != "class")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def page_of(story: Story) -> str:
    return render_report(story.run, story.kept)


def story_with(text: str) -> Story:
    """The drift story with this text wherever a source, a lake or a config could have put one."""
    drift = all_stories()["drift"]
    table = {
        **drift.run["tables"][0],
        "name": text,
        "outcome": "unverified",
        "checkpoint": f"c{text}",
        "unverified": [{"what": "column", "name": text, "why": text, "fix": f"f{text}"}],
        "error": {"type": "SourceError", "message": text, "fix": f"f{text}"},
        "notes": [text],
        "provenance": {"sql": f"s{text}"},
    }
    run = {
        **drift.run,
        "outcome": "unverified",
        "tables": [table],
        "provenance": {"config": text, "x": {"y": f"z{text}"}},
    }
    plan = {**drift.plans["orders"], "table": text, "steps": [{"step": "write", "text": text}], "key": [text]}
    found = finding("updated_without_watermark", {f"k{text}": text}, [f"c{text}"], side(), in_lake())
    values: Document = {f"c{text}": f"v{text}"}
    sample = [
        {
            **found,
            "source": {**found["source"], "values": values},
            "lake": {**found["lake"], "values": {f"c{text}": "w"}},
        }
    ]
    return Story(run, {text: plan}, {text: sample}, *earlier(text))


@pytest.mark.parametrize(("plan_id", "said"), [("p", "This plan was applied by"), (None, "This was taken back by")])
def test_page_says_of_an_earlier_run_whether_it_applied_or_took_back(plan_id: str | None, said: str) -> None:
    done = all_stories()["corrected"]
    table = {**done.run["tables"][0], "already_applied": True, "plan_id": plan_id}

    assert f"{said} an earlier run" in page_of(replace(done, run={**done.run, "tables": [table]}))


@cache
def plain_elements() -> Elements:
    found = Elements(page_of(story_with("orders")))
    del found.counts["mark"]
    return found


@given(TEXTS)
@settings(max_examples=40, deadline=None)
def test_page_has_the_same_elements_whatever_the_texts_are(text: str) -> None:
    nasty, plain = Elements(page_of(story_with(text))), plain_elements()

    del nasty.counts["mark"]  # how many characters differ depends on the text
    assert nasty.counts == plain.counts
    assert nasty.attribute_names() == plain.attribute_names()
    assert nasty.open == []


@pytest.mark.parametrize("text", NASTY)
def test_page_shows_a_nasty_text_as_text(text: str) -> None:
    shown = "".join(Elements(page_of(story_with(text))).text)

    assert shown.count(text.replace("\x00", "⟨NUL⟩").replace("\x1b", "⟨ESC⟩").replace("\u202e", "⟨U+202E⟩")) >= 8


@given(st.text(max_size=200))
@settings(max_examples=30, deadline=None)
def test_page_is_always_utf8_without_hidden_characters(text: str) -> None:
    page = page_of(story_with(text))

    assert page.encode().decode() == page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", page)


@pytest.mark.parametrize("ending", sorted(all_stories()))
def test_page_is_inert_and_needs_no_network(stories: Mapping[str, Story], ending: str) -> None:
    page = page_of(stories[ending])
    parsed = Elements(page)

    assert parsed.open == []
    assert not {"link", "img", "iframe", "object", "form", "base"} & set(parsed.counts)
    assert not [name for _, name, _ in parsed.attributes if name.startswith("on") or name in {"style", "src"}]
    assert all(value and value.startswith("#") for _, name, value in parsed.attributes if name == "href")
    assert "http:" not in page
    assert "https:" not in page


def digest_of(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_page_allows_only_its_own_style_sheet_and_script(stories: Mapping[str, Story]) -> None:
    page = page_of(stories["drift"])
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    policy = next(
        value for tag, name, value in Elements(page).attributes if name == "content" and "default-src" in str(value)
    )

    assert (len(style), len(script)) == (1, 1)
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest_of(style[0])}'; script-src 'sha256-{digest_of(script[0])}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_page_says_the_same_without_its_script(stories: Mapping[str, Story]) -> None:
    page = page_of(stories["drift"])

    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert script is not None
    assert len(script.group(1).splitlines()) <= 60
    assert not re.search(r"fetch|XMLHttp|innerHTML|eval|http|storage|cookie", script.group(1))


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("drift", ["9 rows of orders differ", "hudi-reconcile -c shop/reconcile.yaml apply 20261121T132616Z-3f9a1c"]),
        ("clean", ["Source and lake agree on orders.", "Nothing to do."]),
        ("corrected", ["9 corrections of orders written and verified.", "Compared again afterwards"]),
        (
            "unverified",
            ["cannot say whether orders and payments agree", "9 rows differ", "sweep -t orders -t payments"],
        ),
        ("refused", ["a guard stopped orders", "4,811", "--approve-deletes 4811"]),
        ("incomplete", ["7 of 9 corrections of orders", "plan latest"]),
        ("pulled", ["1,240 rows of orders handed to the lake. Not compared yet.", "sweep"]),
        (
            "checked",
            [
                "1 of 5 rules could not run: r-error. 1 of 5 rules failed: r-fail. 1 of 5 rules failed as a warning: r-warn.",
                "orders: mend it",
                "check",
            ],
        ),
        (
            "rules failed",
            ["0 rows of orders differ", "1 of 2 rules failed: r-fail.", "Correct the rows at the source, or waive"],
        ),
        ("rules hold", ["orders: All 2 rules hold.", "Nothing to do."]),
        ("usage", ["does not fit orders", "start the database"]),
    ],
)
def test_page_says_how_it_ended_and_what_to_do_next(stories: Mapping[str, Story], ending: str, said: list[str]) -> None:
    text = " ".join("".join(Elements(page_of(stories[ending])).text).split())

    assert [part for part in said if part not in text] == []


def test_page_shows_both_sides_of_a_finding_and_what_the_eye_misses(stories: Mapping[str, Story]) -> None:
    text = "".join(Elements(page_of(stories["drift"])).text)

    assert "Showing 6 of 9." in text
    for part in ("REFUNDED", "no such row", "Zürich␣", "empty text", "NULL", "(900 characters)", "order_id=77123"):
        assert part in text


def test_page_shows_plan_guards_provenance_and_cost(stories: Mapping[str, Story]) -> None:
    text = "".join(Elements(page_of(stories["drift"])).text)

    for part in (
        "5d0f6b1e3c7a",
        "one commit, only if every key",
        "max_delete_share",
        "000001A4-00000F2C-1",
        'FROM "public"."orders"',
        "73914527",
        "10,611",
    ):
        assert part in text


def test_page_shows_notes_that_need_a_person_before_those_for_the_record(stories: Mapping[str, Story]) -> None:
    def page(notes: list[str], open_notes: int) -> str:
        drift = stories["drift"]
        table = {**drift.run["tables"][0], "notes": notes, "notes_open": open_notes}
        return page_of(replace(drift, run={**drift.run, "tables": [table]}))

    both = page(["rows are missed", "masked: email"], 1)
    record = page(["masked: email"], 0)

    order = ["Notes that need a person", "rows are missed", "Notes for the record", "masked: email"]
    assert sorted(order, key=both.index) == order
    assert "need a person" not in record
    assert "<h3>Notes</h3>" in record


def test_page_says_why_rows_drifted_where_and_how_late(stories: Mapping[str, Story]) -> None:
    text = " ".join("".join(Elements(page_of(stories["drift"])).text).split())

    for part in ("pull.overlap: 8m would have brought them", "created_month=2026-10", "1m to 10m", "in status, amount"):
        assert part in text
    assert "Why it drifted" not in "".join(Elements(page_of(stories["clean"])).text)


def test_page_shows_no_zero_failed_rows_of_a_rule_that_could_not_run(stories: Mapping[str, Story]) -> None:
    page = page_of(stories["checked"])
    found = re.findall(r"<code>(r-\w+)</code>.*?<td class=\"n\">([^<]*)", page)

    assert dict(found) == {"r-error": "–", "r-fail": "1,200", "r-warn": "3", "r-waived": "2", "r-pass": "0"}  # noqa: RUF001


def test_page_shows_rules_that_need_a_look_first_with_their_keys(stories: Mapping[str, Story]) -> None:
    text = " ".join("".join(Elements(page_of(stories["checked"])).text).split())

    listed = text[text.index("Rules, 5: 1 could not run, 1 failed, 1 failed as a warning, 1 waived, 1 passed") :]
    order = [listed.index(word) for word in ("r-error", "r-fail", "r-warn", "r-waived", "r-pass")]
    assert order == sorted(order)
    for part in (
        "ask the <b>shop</b> team",
        '{"order_id": 0, "code": "a⟨U+202E⟩b"}',
        "and 1,190 more rows",
        "keys: orders/rules/r-fail",
        "waived until 2026-12-01 (TICKET-1, finance)",
        "allowed 0.1%",
        "fix: mend it",
    ):
        assert part in listed


def test_sections_of_a_table_come_in_the_order_in_which_people_ask(stories: Mapping[str, Story]) -> None:
    page = page_of(stories["drift"])

    order = [
        "What to do next",
        "Rows in the source",
        "Control totals",
        "by kind",
        "Where and when",
        "Why it drifted",
        "How far below the checkpoint",
        "Columns that differ",
        "Findings, row by row",
        "<h3>Plan</h3>",
        "Over the runs",
        "What was not compared",
        "<h3>Evidence</h3>",
        "Provenance of the run",
        "How to check this page",
        "Sign-off",
    ]
    places = [page.index(words) for words in order]
    assert places == sorted(places)


def test_trend_and_ages_are_figures_with_a_title_and_the_same_numbers_as_tables(stories: Mapping[str, Story]) -> None:
    page = page_of(stories["drift"])
    text = " ".join(" ".join(Elements(page).text).split())

    figures = sum(page.count(f'<svg class="{one}"') for one in ("bar", "bars", "strip", "times"))
    assert figures == page.count('role="img"')
    assert len(re.findall(r'role="img">\s*<title>', page)) == figures
    assert "Drifted rows over the last 7 comparisons: 0 to 31, 9 in the newest." in text
    for row in ("2026-11-17T02:00:04Z 20261117T020000Z-000011 drift 31 31 every row", "drift 4 0 every row"):
        assert row in text
    assert "1h to 1d ago 1h to 1d ago: 30 segments 30" in text
    assert "compared by this run" in text


def test_differing_characters_are_marked(stories: Mapping[str, Story]) -> None:
    assert "<code>Zürich<mark>␣</mark></code>" in page_of(stories["drift"])


def test_row_of_an_apply_says_what_was_left_out_and_written_before_as_its_figures_do() -> None:
    done = Corrections(upserts=12, deletes=10, applied=2, applied_before=10)
    tables = [TableResult(name, Outcome.INCOMPLETE, corrections=done) for name in ("orders", "items")]
    page = page_of(Story(run_of("apply", *tables), {}, {}))

    assert page.count('<td class="n">2 / 22 (10 before)</td><td class="n">the rest</td>') == 2


def test_page_of_the_same_documents_is_the_same(stories: Mapping[str, Story]) -> None:
    assert page_of(stories["drift"]) == page_of(stories["drift"])


@pytest.mark.parametrize("ending", sorted(all_stories()))
def test_page_can_be_read_by_ear(stories: Mapping[str, Story], ending: str) -> None:
    parsed = Elements(page_of(stories[ending]))
    ids = [value for _, name, value in parsed.attributes if name == "id"]
    named = [value for _, name, value in parsed.attributes if name == "aria-labelledby"]

    assert parsed.counts["main"] == parsed.counts["header"] == parsed.counts["footer"] == parsed.counts["h1"] == 1
    assert parsed.counts["caption"] == parsed.counts["table"]
    assert parsed.counts["th"] == len([1 for tag, name, _ in parsed.attributes if (tag, name) == ("th", "scope")])
    assert len(ids) == len(set(ids))
    assert set(named) <= set(ids)


def test_page_tells_chosen_columns_of_both_sides_beside_the_rows(stories: Mapping[str, Story]) -> None:
    story = stories["summed"]

    page = " ".join(" ".join(Elements(page_of(story)).text).split())

    assert "Sum of amount 1,250,417.30 1,250,389.10 +28.20" in page
    assert "Least of amount \N{MINUS SIGN}3 \N{MINUS SIGN}3 0" in page
    assert "Greatest of amount 990 1,200.5 \N{MINUS SIGN}210.5" in page
    assert "sum of pay is the same on both sides: not shown" in page


def test_page_shows_what_an_apply_left_with_its_reasons_and_how_to_see_all(stories: Mapping[str, Story]) -> None:
    page = page_of(stories["incomplete"])

    assert "2 planned rows not corrected: moved 1, superseded 1" in page
    assert "the source&#39;s row is no longer the one that was compared: sweep again" in page
    assert "order_id=77123" in page
    assert f" findings {RUN_ID} --uncorrected</code>" in page
    refused = page_of(stories["refused"])
    assert "4,812 planned rows not corrected by this run: refused 4,812; guard max_deletes" in refused
    assert f" findings {RUN_ID}</code>" in refused
