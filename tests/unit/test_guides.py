"""The guides of CONTRIBUTING, walked: each toy is added by a guide's own steps to a copy of the package, and works there."""

from __future__ import annotations

from pathlib import Path

from hudi_reconcile.report.page.html import render_report
from tests.support.guides import Walk, guide_files
from tests.unit.report.stories import all_stories

SECTION = "A new section of the report"
RENDER = """
import sys
from hudi_reconcile.report.page.html import render_report
from tests.unit.report.stories import all_stories
story = all_stories()[sys.argv[1]]
sys.stdout.write(render_report(story.run, story.kept))
"""


def add_toy_section(walk: Walk) -> None:
    walk.insert(
        "report/page/sections.py",
        'def _reach(subject: Subject) -> str:\n    return str(subject.table["checkpoint"] or "")\n\n\n',
        before="# In the order of the page.",
    )
    walk.insert(
        "report/page/sections.py", '    "reach": _reach,\n', before='"notes": _notes,'
    )
    walk.add("report/templates/sections/reach.html", "<h3>Reach</h3>\n<p>Pulled up to <code>{{ shown }}</code></p>\n")


def test_section_that_is_added_by_the_guide_takes_its_two_files_and_stands_on_the_page(tmp_path: Path) -> None:
    walk, story = Walk.begin(tmp_path), all_stories()["drift"]
    before = walk.run("-c", RENDER, "drift").stdout

    add_toy_section(walk)
    page = walk.run("-c", RENDER, "drift").stdout

    section = "<h3>Reach</h3>\n<p>Pulled up to <code>2026-11-20T23:59:58.000412Z</code></p>\n"
    assert before == render_report(story.run, story.kept)
    assert page.count(section) == 1
    assert page.index("What was not compared") < page.index(section) < page.index("<h3>Evidence</h3>")
    assert shown_lines(page.replace(section, "")) == shown_lines(before)
    assert walk.touched == guide_files(SECTION, "reach")
    assert len(walk.touched) == 2


def shown_lines(page: str) -> list[str]:
    return [line for line in page.splitlines() if line]


def test_section_is_not_on_the_page_of_a_table_that_has_nothing_of_the_kind(tmp_path: Path) -> None:
    walk = Walk.begin(tmp_path)
    add_toy_section(walk)

    page = walk.run("-c", RENDER, "pulled").stdout

    assert "<h3>Pull</h3>" in page
    assert "Reach" not in page
