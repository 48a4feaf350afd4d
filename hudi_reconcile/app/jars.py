"""The jars for `jars list` and `jars fetch`: the config's settings where there is a config, else the defaults. No session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hudi_reconcile.app.engines import session_request
from hudi_reconcile.config.model import Config
from hudi_reconcile.spark.inventory import fetch_jars, list_jars
from hudi_reconcile.spark.session import SessionRequest


@dataclass(frozen=True, slots=True)
class ShownJar:
    """A jar that a session would load. `path` is None where it must be fetched first."""

    coordinate: str | None
    path: str | None
    sha256: str


def listed(config: Config | None, environ: Mapping[str, str]) -> tuple[ShownJar, ...]:
    """Every jar that a session would load. Raises UsageError for other bytes than the lock names."""
    request = _request(config)
    found = list_jars(request.jars, request.conf, environ)
    return tuple(ShownJar(jar.coordinate, None if jar.path is None else str(jar.path), jar.sha256) for jar in found)


def fetched(config: Config | None, to: Path | None, environ: Mapping[str, str]) -> tuple[ShownJar, ...]:
    """Fetch what is not there yet. Raises UsageError where the resolver cannot, or Java is missing."""
    return tuple(
        ShownJar(jar.coordinate, str(jar.path), jar.sha256)
        for jar in fetch_jars(_request(config).conf, to=to, environ=environ)
    )


def _request(config: Config | None) -> SessionRequest:
    return SessionRequest() if config is None else session_request(config)
