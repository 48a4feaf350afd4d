"""A run's report page, from the files of its folder: while the run is being finished, and whenever it is rebuilt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hudi_reconcile.evidence.findings import sample_findings
from hudi_reconcile.evidence.names import FINDINGS_FOLDER, PLAN_FILE, table_folder
from hudi_reconcile.report.html import render_report

SAMPLE_ROWS = 20


def page_of(document: Mapping[str, Any], folder: Path) -> str:
    """The HTML page of a run. Raises EvidenceError where findings that the result counts cannot be read."""
    plans, samples = {}, {}
    for table in document["tables"]:
        name, path = table["name"], folder / table_folder(table["name"])
        if (path / PLAN_FILE).exists():
            plans[name] = json.loads((path / PLAN_FILE).read_text("utf-8"))
        if (path / FINDINGS_FOLDER).exists():
            taken = sample_findings(path / FINDINGS_FOLDER, table["findings"], limit=SAMPLE_ROWS)
            samples[name] = [json.loads(finding.line) for finding in taken]
    return render_report(document, plans, samples)
