"""Every page in a real browser: axe-core finds nothing, nothing shifts, nothing is fetched, and it fits a narrow screen."""

from __future__ import annotations

import importlib.util
import io
import json
import re
from collections.abc import Iterable, Mapping
from html import unescape
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from pypdf import PdfReader

from hudi_reconcile.app.pages import VARIABLE, print_page
from hudi_reconcile.core.sweep.drift_profile import MOST_PARTITIONS, MOST_TIMES
from hudi_reconcile.report.page.html import render_report
from tests.support.browser import Browser, View, required_browser
from tests.support.pages import pages
from tests.support.screenshots import without_policy
from tests.unit.report.stories import all_stories

PAGES = pages()
LOOKED_AT = [(name, dark) for name in ("report-drift", "index") for dark in (False, True)] + [("mail", False)]
# A table of a page that is still being read grows with its rows, which is no fault of the page: it is shown when it is
# whole. Our script waits until then: by itself it may end before anything is painted, and then nobody sees what it moves.
_SHOWN = """<style id="reading">body { display: none; }</style><script>
const shown = new Promise((done) => addEventListener("DOMContentLoaded", () => {
  document.getElementById("reading").remove();
  setTimeout(done, 1000);
}));
</script>"""
_SCRIPT = re.compile("<script>(.*?)</script>", re.DOTALL)
_PROBE = """<script>
const shifts = [];
new PerformanceObserver((list) => shifts.push(...list.getEntries())).observe({type: "layout-shift", buffered: true});
shown.then(() => axe.run(document)).then((found) => setTimeout(() => {
  const told = {
    violations: found.violations.map((one) => [one.id, one.nodes.map((node) => node.target.join(" "))]),
    passes: found.passes.length,
    shift: shifts.reduce((sum, one) => sum + one.value, 0),
    fetched: performance.getEntriesByType("resource").length,
    wide: document.documentElement.scrollWidth - window.innerWidth,
    heat: [...document.querySelectorAll(".heat")].map(({parentElement: room}) => [
      room.scrollWidth > room.clientWidth, getComputedStyle(room.previousElementSibling).display !== "none"]),
    labels: [...document.querySelectorAll(".heat tbody th")].map((one) => [
      one.textContent, one.firstElementChild.getClientRects().length, one.scrollWidth <= one.clientWidth]),
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
  };
  document.documentElement.dataset.told = JSON.stringify(told);
}, 500));
</script></body>"""


def axe() -> str:
    """The text of axe-core; the package that brings it is not imported, as it would want a browser of its own."""
    found = importlib.util.find_spec("axe_playwright_python")
    assert found is not None
    assert found.submodule_search_locations
    return (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="module")
def chromium() -> Browser:
    return required_browser()


def looked_at(chromium: Browser, text: str, folder: Path, view: View) -> Mapping[str, Any]:
    page = folder / "page.html"
    probe = f"<script>{axe()}</script>{_PROBE}"
    late = _SCRIPT.sub(
        lambda found: f"<script>shown.then(() => {{{found[1]}}});</script>", without_policy(text), count=1
    )
    page.write_text(late.replace("</head>", f"{_SHOWN}</head>").replace("</body>", probe), "utf-8")
    shown = chromium.document(page, view)
    told: Mapping[str, Any] = json.loads(unescape(shown.split('data-told="')[1].split('"')[0]))
    return told


@pytest.mark.parametrize(
    ("name", "dark"), LOOKED_AT, ids=[f"{name}-{'dark' if dark else 'light'}" for name, dark in LOOKED_AT]
)
def test_page_can_be_used_by_everyone_and_holds_still(
    chromium: Browser, tmp_path: Path, name: str, *, dark: bool
) -> None:
    told = looked_at(chromium, PAGES[name], tmp_path, View(390, dark=dark))

    assert told["violations"] == []
    assert told["passes"] > 5
    assert (told["shift"], told["fetched"], told["dark"]) == (0, 0, dark)
    assert told["wide"] <= 0


def wide_page() -> str:
    """The report of a drift in as many partitions and days as the heat map has room for, with figures as long as they get."""
    return drift_page(f"region=north-west/{part:02}" for part in range(MOST_PARTITIONS))


def drift_page(partitions: Iterable[str]) -> str:
    """The report of a drift in these partitions, on as many days as the heat map has room for."""
    story = all_stories()["drift"]
    run = json.loads(json.dumps(story.run))
    cells = [
        {"kind": "deleted", "partition": part, "day": f"2026-11-{day:02}", "rows": 999_999}
        for part in partitions
        for day in range(11, 11 + MOST_TIMES)
    ]
    for table in run["tables"]:
        if table["anatomy"]:
            kept = {name: one for name, one in table["anatomy"].items() if name not in ("heat", "days")}
            table["anatomy"] = {**kept, "cells": cells}
    return render_report(run, story.kept)


@pytest.mark.parametrize(("width", "scrolls"), [(390, True), (750, True), (840, True), (1280, False)])
def test_table_that_is_wider_than_the_screen_says_so_and_no_other_does(
    chromium: Browser, tmp_path: Path, width: int, *, scrolls: bool
) -> None:
    told = looked_at(chromium, wide_page(), tmp_path, View(width))

    assert told["heat"] == [[scrolls, scrolls]]
    assert told["wide"] <= 0


@pytest.mark.parametrize("width", [390, 1280])
def test_word_for_a_table_without_partitions_stays_on_one_line_and_whole(
    chromium: Browser, tmp_path: Path, width: int
) -> None:
    told = looked_at(chromium, drift_page([""]), tmp_path, View(width))

    assert told["labels"] == [["(not partitioned)", 1, True]]
    assert told["wide"] <= 0


def test_print_shows_the_last_column_of_a_wide_table_in_full(chromium: Browser) -> None:
    pages = PdfReader(io.BytesIO(print_page(wide_page(), {VARIABLE: chromium.path}))).pages
    ends: dict[str, float] = {}

    def look(text: str, around: list[float], here: list[float], *_: object) -> None:
        if found := re.fullmatch(r"\s*11-(\d\d)\s*", text):
            ends[found[1]] = around[0] * here[4] + around[4]

    for page in pages:
        page.extract_text(visitor_text=look)
    step = (ends["20"] - ends["11"]) / (MOST_TIMES - 1)

    assert ends["20"] + step < float(pages[0].mediabox.width)


def test_axe_would_find_a_fault(chromium: Browser, tmp_path: Path) -> None:
    faulty = PAGES["mail"].replace("</body>", '<p style="color:#999;background:#aaa">pale</p><img src=x></body>')

    told = looked_at(chromium, faulty, tmp_path, View())

    assert {"color-contrast", "image-alt"} <= {name for name, _ in told["violations"]}


def test_pdf_of_a_report_says_what_the_page_says(chromium: Browser) -> None:
    found = PdfReader(io.BytesIO(print_page(PAGES["report-drift"], {VARIABLE: chromium.path})))

    text = " ".join(normalize("NFKC", " ".join(page.extract_text() for page in found.pages)).split())
    assert len(found.pages) > 1
    assert "9 rows of orders differ" in text
    assert "apply 20261121T132616Z-3f9a1c" in text
    assert "updated_without_watermark" in text.replace(" ", "")
