"""The command line, with SIGKILL to itself and its JVM once the target's transaction is committed and nobody knows."""

from __future__ import annotations

import os
import signal
import sys
from functools import wraps
from typing import Any

from hudi_reconcile.changefeed.postgres_sink import PostgresTarget
from hudi_reconcile.cli.main import run

if __name__ == "__main__":
    apply = PostgresTarget.apply

    @wraps(apply)
    def killed(*arguments: Any, **named: Any) -> Any:
        apply(*arguments, **named)
        os.killpg(0, signal.SIGKILL)

    PostgresTarget.apply = killed  # type: ignore[method-assign]
    sys.exit(run(sys.argv[1:]))
