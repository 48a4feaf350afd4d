"""The jars of this installation: what is here, what must be fetched, and fetching it. Opens no session."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hudi_reconcile.spark.jars import Jar, JarRequest, cache_folder, jar_folders, locked_jars, plan_jars, verify
from hudi_reconcile.spark.java import JavaRuntime, find_java
from hudi_reconcile.spark.resolve import ResolverSettings, fetch, resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedJar:
    """One line of `jars list`. `path` is None where the jar must be fetched first."""

    coordinate: str | None
    path: Path | None
    sha256: str


def list_jars(
    request: JarRequest, conf: Mapping[str, str], environ: Mapping[str, str] = os.environ
) -> tuple[ListedJar, ...]:
    """Every jar that a session would load, with its checked hash, or the expected one where it is not here yet.

    Raises:
        UsageError: a file that is here has other bytes than the lock says, or a given file is missing.
    """
    lock = locked_jars()
    plan = plan_jars(request, lock, jar_folders(environ, ResolverSettings.of(conf).folder))
    here = (
        ListedJar(coordinate=jar.coordinate, path=jar.path, sha256=jar.sha256) for jar in verify(plan.present, lock)
    )
    missing = (ListedJar(coordinate=jar.coordinate, path=None, sha256=jar.sha256) for jar in plan.missing)
    return (*here, *missing)


def fetch_jars(
    conf: Mapping[str, str], *, to: Path | None = None, environ: Mapping[str, str] = os.environ
) -> tuple[Jar, ...]:
    """Put the locked jars into `to`, by default the cache that `auto` looks into first. Done twice, it does nothing.

    Raises:
        UsageError: no Java, the resolver failed, or a file has other bytes than the lock says.
    """
    return fetch(locked_jars(), to or cache_folder(environ), ResolverSettings.of(conf), lambda: find_java(environ))


def bring_jars(
    request: JarRequest, conf: Mapping[str, str], java: JavaRuntime, environ: Mapping[str, str]
) -> tuple[Jar, ...]:
    """The files that a session loads, fetched where they are not here, every one checked.

    Raises:
        UsageError: as `list_jars` and `fetch_jars`.
    """
    lock = locked_jars()
    settings = ResolverSettings.of(conf)
    plan = plan_jars(request, lock, jar_folders(environ, settings.folder))
    fetched = resolve(plan.missing, settings, java) if plan.missing else ()
    return verify(fetched + plan.present, lock)
