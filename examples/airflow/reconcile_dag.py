"""Nightly reconciliation, by the tool's Python in a venv of its own: its packages and Airflow's need not agree.

Drift that could not be corrected, a failed rule, and what nobody knows fail the task; none is retried.
"""

import os
from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, task

PYTHON = os.environ.get("RECONCILE_PYTHON", "/srv/hudi-reconcile/bin/python")
CONFIG = os.environ.get("RECONCILE_CONFIG", "/srv/shop/reconcile.yaml")

with DAG(
    "reconcile_shop",
    start_date=datetime(2026, 1, 1),
    schedule="0 2 * * *",
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 0, "execution_timeout": timedelta(hours=3)},
) as dag:

    @task.external_python(python=PYTHON, expect_airflow=False)
    def reconcile(config):
        from hudi_reconcile import load, run

        result = run(load(config), apply=True)
        if result.exit_code:
            raise RuntimeError(f"{result.outcome} (exit {result.exit_code}): see {result.report}")
        return result.run_id

    @task.bash(trigger_rule="all_done")
    def audit():
        return f"{Path(PYTHON).parent}/hudi-reconcile -c {CONFIG} audit verify"

    reconcile(CONFIG) >> audit()
