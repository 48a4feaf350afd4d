"""The invented runs as pages, for a browser to look at."""

from __future__ import annotations

from collections.abc import Mapping

from hudi_reconcile.report.page.html import build_mail, render_index, render_mail, render_report
from hudi_reconcile.report.page.trend import build_index
from tests.unit.report.stories import all_stories, past_run

REPORTS = ("drift", "unverified", "corrected", "checked", "summed")


def pages() -> Mapping[str, str]:
    """Every kind of page by name: reports of several endings, the index and a mail."""
    stories = all_stories()
    reports = {f"report-{name}": render_report(stories[name].run, stories[name].kept) for name in REPORTS}
    past = [
        past_run(20, "orders", "drift", 48),
        past_run(20, "customers", "clean", 0),
        past_run(19, "orders", "drift", 4_811),
        past_run(19, "payments", "unverified", None),
        past_run(18, "orders", "clean", 0),
        past_run(17, "shipments", "pulled", 0, command="pull", whole=False),
    ]
    index = render_index(build_index([{**one, "why": ""} for one in past], as_of="20261120T020000Z-000014"), "")
    return {**reports, "index": index, "mail": render_mail(build_mail(stories["unverified"].run, {}))}
