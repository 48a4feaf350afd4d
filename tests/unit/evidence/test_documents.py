"""Documents of the evidence are read as they were written, or refused by name."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.evidence.documents import check_result
from hudi_reconcile.evidence.files import EvidenceError
from tests.unit.report.stories import all_stories


@pytest.mark.parametrize("day", ["2026-13-01", "20260301", "2026-03-01T00:00:00", "x", ""])
@pytest.mark.parametrize("where", ["days", "cells"])
def test_drift_of_a_day_that_is_none_is_refused(day: str, where: str) -> None:
    run = all_stories()["drift"].run
    document: dict[str, Any] = copy.deepcopy(dict(run))
    (table,) = document["tables"]
    check_result(document, run["run_id"], Path("result.json"))
    if where == "days":
        table["anatomy"]["days"] = {day: 1}
    else:
        table["anatomy"]["cells"][0]["day"] = day

    with pytest.raises(EvidenceError):
        check_result(document, run["run_id"], Path("result.json"))
