"""What failed in Hudi or Spark, by the classes of its causes."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError

from hudi_reconcile.core.errors import LakeError

_DOCTOR = "hudi-reconcile doctor"


def cause_names(error: Py4JJavaError) -> tuple[str, ...]:
    """Short class names of a Java error's cause chain, outermost first. Never its messages: they may hold row values."""
    names: list[str] = []
    java = error.java_exception
    while java is not None and len(names) < 50:  # noqa: PLR2004  a cycle of causes would never end
        names.append(str(java.getClass().getSimpleName()))
        java = java.getCause()
    return tuple(names)


def unreadable(path: str, what: str, error: Py4JJavaError) -> LakeError:
    """The error for a table whose parts cannot be read. One that was listed and is gone is what a writer archived meanwhile."""
    names = cause_names(error)
    fix = f"run it again; where it stays: {_DOCTOR}" if "FileNotFoundException" in names else _DOCTOR
    return LakeError(f"Hudi table {path}: {what} cannot be read ({' <- '.join(names)})", fix=fix)
