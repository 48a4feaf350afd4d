"""Asset checks: the rules of a table, and whether it is the source's copy. What could not be found out fails the check's run."""

import os

from dagster import AssetCheckResult, AssetKey, Definitions, Failure, asset_check

from hudi_reconcile import check, load, sweep

CONFIG = os.environ.get("RECONCILE_CONFIG", "/srv/shop/reconcile.yaml")
TABLES = ["orders"]  # assets of the same names


def judge(command, name):
    """The run and the table's result."""
    result = command(load(CONFIG), [name])
    table = result.tables[name]
    if result.exit_code not in (0, 1):  # neither held nor failed: nobody knows
        why = f"{table.error.message}; fix: {table.error.fix}" if table.error else f"see {result.report}"
        raise Failure(f"{name}: {result.outcome}, {why}")
    return result, table


def checks_of(name):
    @asset_check(asset=AssetKey(name), name="rules", blocking=True)
    def rules():
        result, table = judge(check, name)
        told = {rule.id: f"{rule.status}: {rule.what}, {rule.failed_rows} failed rows" for rule in table.rules}
        return AssetCheckResult(passed=result.exit_code == 0, metadata={"run": result.run_id, **told})

    @asset_check(asset=AssetKey(name), name="copy_of_the_source")
    def copy_of_the_source():
        result, table = judge(sweep, name)
        return AssetCheckResult(passed=result.exit_code == 0, metadata={"run": result.run_id, **table.findings})

    return [rules, copy_of_the_source]


defs = Definitions(asset_checks=[one for name in TABLES for one in checks_of(name)])
