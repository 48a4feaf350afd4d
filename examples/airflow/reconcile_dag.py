"""Nightly reconciliation. Exit 1 is drift or a failed rule, 3 means that nobody knows: both fail the task, neither is retried."""

from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

TOOL = "hudi-reconcile -c /srv/shop/reconcile.yaml"

with DAG(
    "reconcile_shop",
    start_date=datetime(2026, 1, 1),
    schedule="0 2 * * *",
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 0, "execution_timeout": timedelta(hours=3)},
) as dag:
    run = BashOperator(task_id="run", bash_command=f"{TOOL} run --apply")
    verify = BashOperator(task_id="audit", bash_command=f"{TOOL} audit verify", trigger_rule="all_done")
    run >> verify
