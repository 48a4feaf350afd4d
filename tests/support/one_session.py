"""The command line in a process of its own whose commands share one Spark: that of a config.

As a program it reads command lines as JSON from stdin and answers each with a line: `python -m tests.support.one_session CONFIG`.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import ExitStack, redirect_stdout
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from hudi_reconcile.app.connections import request_session
from hudi_reconcile.app.project import load
from hudi_reconcile.cli.main import run
from hudi_reconcile.compare.comparer import SparkComparer
from hudi_reconcile.source.table_source import TableSource
from hudi_reconcile.spark.session import open_session
from tests.support.kill_places import ROOT, Place, ending
from tests.support.spark_cluster import kill_executors

# After each of them rows of the table's work lie on executors alone.
PLACES = {
    "rows read": Place("rows read", TableSource, "stage_rows", after=True),
    "candidates found": Place("candidates found", SparkComparer, "find_candidates", after=True),
    "corrections checked": Place("corrections checked", SparkComparer, "count_statuses", after=True),
}


@dataclass(slots=True)
class OneSession:
    """The other end of the program. A context manager: the process and its Spark end with the block."""

    config: Path
    log: Path
    process: subprocess.Popen[str] = field(init=False)

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.support.one_session", str(self.config)]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT
            )
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
            if self.process.stdout is not None:
                self.process.stdout.close()

    def of(self, config: Path) -> OneSession:
        """The same process and its Spark as it began, asked with another config."""
        other = copy(self)
        other.config = config
        return other

    def run(self, *arguments: str, kill: tuple[str, Path] | None = None) -> tuple[int, str]:
        """The exit code of a command line, and what it printed to stdout.

        `kill` is a place at which the executors of a cluster in that folder are killed, once.
        """
        return self._ask({"line": ["-c", str(self.config), *arguments], "kill": kill and (kill[0], str(kill[1]))})

    def _ask(self, asked: dict[str, Any]) -> tuple[int, str]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(asked), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        assert answer, self.log.read_text()[-5000:]
        code, out = json.loads(answer)
        return code, out

    def query(self, sql: str) -> list[list[str | None]]:
        """The rows of a query in that Spark, each value as text."""
        _, out = self._ask({"sql": sql})
        found: list[list[str | None]] = json.loads(out)
        return found

    def json(self, *arguments: str, kill: tuple[str, Path] | None = None) -> dict[str, Any]:
        """The document of a command line."""
        code, out = self.run(*arguments, "--format", "json", kill=kill)
        document: dict[str, Any] = json.loads(out)
        assert document["exit_code"] == code
        return document


def main(config: str) -> None:
    request = replace(request_session(load(config).config), short=True)  # as commands over few rows ask for it
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with open_session(request) as session:
        for line in sys.stdin:
            said, asked = io.StringIO(), json.loads(line)
            if "sql" in asked:
                rows = [
                    [None if one is None else str(one) for one in row]
                    for row in session.spark.sql(asked["sql"]).collect()
                ]
                print(json.dumps([0, json.dumps(rows)]), file=answers, flush=True)
                continue
            with ExitStack() as stack:
                if asked["kill"]:
                    place, folder = asked["kill"]
                    stack.enter_context(ending(PLACES[place], partial(kill_executors, Path(folder))))
                stack.enter_context(redirect_stdout(said))
                code = run(asked["line"])
            print(json.dumps([code, said.getvalue()]), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
