"""Asset checks: the rules of a table, and whether it is the source's copy. What could not be found out fails the check's run."""

import json
import subprocess

from dagster import AssetCheckResult, AssetKey, Definitions, Failure, asset_check

TOOL = ["hudi-reconcile", "-c", "/srv/shop/reconcile.yaml"]
TABLES = ["orders"]  # assets of the same names


def asked(command, table):
    call = [*TOOL, command, "-t", table, "--format", "json"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    if done.returncode not in (0, 1):  # neither held nor failed: nobody knows
        error = document.get("error") or {"message": document["outcome"], "fix": "hudi-reconcile report latest"}
        raise Failure(f"{error['message']}; fix: {error['fix']}")
    (found,) = document["tables"]
    return document, found


def checks_of(table):
    @asset_check(asset=AssetKey(table), name="rules", blocking=True)
    def rules():
        document, found = asked("check", table)
        told = {
            rule["id"]: f"{rule['status']}: {rule['what']}, {rule['failed_rows']} failed rows"
            for rule in found["rules"]
        }
        return AssetCheckResult(passed=document["exit_code"] == 0, metadata={"run": document["run_id"], **told})

    @asset_check(asset=AssetKey(table), name="copy_of_the_source")
    def copy_of_the_source():
        document, found = asked("sweep", table)
        return AssetCheckResult(
            passed=document["exit_code"] == 0, metadata={"run": document["run_id"], **found["findings"]}
        )

    return [rules, copy_of_the_source]


defs = Definitions(asset_checks=[check for table in TABLES for check in checks_of(table)])
