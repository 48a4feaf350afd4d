"""Every page in a real browser: axe-core finds nothing, nothing shifts, nothing is fetched, and it fits a narrow screen."""

from __future__ import annotations

import importlib.util
import io
import json
import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from pypdf import PdfReader

from hudi_reconcile.app.pages import VARIABLE, print_page
from tests.support.browser import Browser, View, required_browser
from tests.support.pages import pages
from tests.support.screenshots import without_policy

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
