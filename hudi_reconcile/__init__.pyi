from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame  # noqa: TID253 - a stub is not imported

from hudi_reconcile.app.project import Project as Project
from hudi_reconcile.app.project import Result as Result
from hudi_reconcile.app.project import apply as apply
from hudi_reconcile.app.project import check as check
from hudi_reconcile.app.project import load as load
from hudi_reconcile.app.project import plan as plan
from hudi_reconcile.app.project import pull as pull
from hudi_reconcile.app.project import run as run
from hudi_reconcile.app.project import sweep as sweep

__version__: str
__all__ = [
    "Project",
    "Result",
    "__version__",
    "apply",
    "changes",
    "check",
    "feed",
    "load",
    "plan",
    "pull",
    "run",
    "sweep",
]

def feed(
    deliver: Callable[[DataFrame, str, str], object],
    table: str | None = None,
    type: str | None = None,  # noqa: A002
    *,
    consumer: str,
    path: str | None = None,
    config: str | Path | Project = "reconcile.yaml",
    **further: Any,
) -> None: ...
def changes(
    table: str | None = None,
    type: str | None = None,  # noqa: A002
    from_: str = "earliest",
    to: str = "latest",
    *,
    path: str | None = None,
    config: str | Path | Project = "reconcile.yaml",
    corrections_only: bool = False,
    reader: Literal["log", "files"] | None = None,
    soft_deletes: str | None = None,
) -> DataFrame: ...
