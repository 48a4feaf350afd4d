"""Findings that Spark writes into a run folder come back complete, are in the audit log, and are on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from hudi_reconcile.evidence import audit_log
from hudi_reconcile.evidence.findings import choose_kinds, read_findings, sample_findings
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.report.page.html import render_report
from hudi_reconcile.report.page.sections import RunDocuments
from tests.unit.report.stories import all_stories, finding, in_lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON_MICROS = 1_795_262_400_000_000
COUNTS = {"late_arriving": 1, "updated_without_watermark": 5, "deleted": 3}


def test_findings_written_by_spark_are_read_back_logged_and_shown(spark: SparkSession, tmp_path: Path) -> None:
    kinds = [kind for kind, rows in COUNTS.items() for _ in range(rows)]
    documents = [
        finding(kind, {"order_id": number}, [], None, in_lake(note="Zürich\u202e </td>\n"))
        for number, kind in enumerate(kinds)
    ]
    rows = [(one["kind"], one["action"], 0, json.dumps(one, ensure_ascii=False)) for one in documents]
    store = Store(tmp_path / "reports")
    drift = all_stories()["drift"]

    with store.begin(NOON_MICROS) as folder:
        frame = spark.createDataFrame(rows, "kind string, action string, segment int, line string")
        frame.repartition(2).write.parquet(str(folder.findings_dir("orders")))
        folder.write_result({**drift.run, "run_id": folder.run_id})
        folder.finish()

    findings = store.findings_dir(folder.run_id, "orders")
    listed = [json.loads(one.line) for one in read_findings(findings, COUNTS, kinds=choose_kinds([]))]
    sample = [json.loads(one.line) for one in sample_findings(findings, COUNTS, limit=4)]
    (logged,) = audit_log.read_records(store.reports / "audit.jsonl")
    page = render_report(store.result(folder.run_id), RunDocuments(samples={"orders": sample}))
    on_disk = {path.relative_to(findings.parents[1]).as_posix() for path in findings.rglob("*")}
    assert sorted(listed, key=lambda one: int(one["key"]["order_id"])) == documents
    assert {one["kind"] for one in sample} == set(COUNTS)
    assert on_disk < set(logged["files"])
    assert "Zürich⟨U+202E⟩ &lt;/td&gt;⟨LF⟩" in page
