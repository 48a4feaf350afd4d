"""Statements that run beside the work: their answers, their errors, and that no end of the process waits for them."""

from __future__ import annotations

import subprocess
import sys
from contextvars import ContextVar

import pytest

from hudi_reconcile.source.pushdown import ask_beside

TABLE = ContextVar("TABLE", default="")

UNANSWERED = """
import time
from hudi_reconcile.source.pushdown import ask_beside
ask_beside(lambda: time.sleep(600), "slow")
print("done")
"""


def test_answer_and_error_of_a_statement_beside_are_those_of_whoever_waits_and_its_lines_name_the_table() -> None:
    TABLE.set("orders")

    def refuse() -> int:
        raise KeyError("gone")

    assert ask_beside(TABLE.get, "table").result(timeout=10) == "orders"
    refused = ask_beside(refuse, "refusal")
    with pytest.raises(KeyError, match="gone"):
        refused.result(timeout=10)


def test_process_ends_though_a_statement_beside_it_has_no_answer() -> None:
    ended = subprocess.run([sys.executable, "-c", UNANSWERED], capture_output=True, text=True, timeout=60, check=True)

    assert ended.stdout == "done\n"
