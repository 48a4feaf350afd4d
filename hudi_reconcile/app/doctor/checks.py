"""Every precondition of a run, looked at without writing anything, and without starting Spark unless it is on a cluster."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from hudi_reconcile.app.connections import build_reader, open_engine_for_doctor, request_session
from hudi_reconcile.app.doctor.catalog import check_catalog
from hudi_reconcile.app.doctor.lake import (
    check_folder,
    check_folder_mode,
    check_lake,
    check_lock,
    check_writers,
    find_local_path,
)
from hudi_reconcile.app.doctor.server import (
    Check,
    build_failed_check,
    check_jars,
    check_names,
    check_rows,
    check_server,
    check_table,
)
from hudi_reconcile.app.jobs import build_job, build_table_request, refuse_not_built
from hudi_reconcile.app.rules import load_rule_sets
from hudi_reconcile.config.load import load_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.overlay import NO_OVERLAY, Overlay
from hudi_reconcile.config.paths import OWNERS_MODE
from hudi_reconcile.config.secrets import Environment
from hudi_reconcile.config.selection import TableChoice
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.config.trust import list_trust
from hudi_reconcile.core.errors import ReconcileError
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.databases.base import Engine
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.timeline import read_origin
from hudi_reconcile.ports import Origin
from hudi_reconcile.spark.cluster import Executors, look_at_executors, sees_file
from hudi_reconcile.spark.jars import list_jars
from hudi_reconcile.spark.jvm import SUPPORTED_MAJORS, find_java
from hudi_reconcile.spark.session import Session, SessionRequest, open_bare_jvm, open_session
from hudi_reconcile.spark.settings import is_local

_LOWEST_PYTHON = (3, 11)


def checks(
    config_path: Path, choice: TableChoice, environ: Environment = os.environ, overlay: Overlay = NO_OVERLAY
) -> Iterator[Check]:
    """All checks in the order in which a run would meet them; what hangs on a failed one is left out.

    Raises UsageError for a choice that fits no table of the config.
    """
    yield _python()
    yield _java(environ)
    try:
        config = load_config(config_path, environ, overlay=overlay)
    except ReconcileError as error:
        yield _jars(SessionRequest(), environ)
        yield build_failed_check("config", error)
        return
    tables = config.choose(choice)
    yield from (Check(trust.key, "warn", trust.sentence, trust.fix) for trust in list_trust(config))
    yield _jars(request_session(config), environ)
    yield from _config(config_path, config, tables)
    yield check_folder("reports", config.reports)
    yield from _folder_modes(config, environ)
    yield from _source_and_lake(config, tables, environ)
    if config.spark.master is not None and not is_local(config.spark.master):
        yield from _cluster(config, tables, environ)


def _cluster(config: Config, tables: tuple[TableConfig, ...], environ: Environment) -> Iterator[Check]:
    """What a session on the cluster says: its executors, their Java, and whether they see the tables that are there."""
    try:
        with open_session(request_session(config), environ) as session:
            yield Check("spark.master", "ok", f"{config.spark.master} gave a session of Spark {session.spark_version}")
            yield from check_executors(look_at_executors(session.spark))
            yield Check("evidence", "ok", "its rows come through the driver: executors need not see reports")
            for table in tables:
                yield from _view(session, table)
    except ReconcileError as error:
        yield build_failed_check("spark.master", error)


def check_executors(executors: Executors) -> Iterator[Check]:
    """Whether all executors run a Java that Spark and Hudi know, in UTC."""
    javas = ", ".join(executors.javas)
    majors = {java.partition(".")[0] for java in executors.javas}
    if majors <= {str(major) for major in SUPPORTED_MAJORS}:
        yield Check("executors", "ok", f"{executors.count} answered, Java {javas}")
    else:
        yield Check("executors", "fail", f"{executors.count} answered, Java {javas}", "give each of them Java 17 or 21")
    if set(executors.time_zones) != {"UTC"}:
        fix = "add -Duser.timezone=UTC to spark.executor.extraJavaOptions"
        yield Check("executors' zone", "fail", f"they run in {', '.join(executors.time_zones)}, not UTC", fix)


def _view(session: Session, table: TableConfig) -> Iterator[Check]:
    name, path = f"{table.name}: executors", table.lake.path
    folder = find_local_path(path)
    if folder is not None and not (folder / ".hoodie" / "hoodie.properties").is_file():
        yield Check(name, "warn", f"{path} holds no table yet: not checked", "pull, then: hudi-reconcile doctor")
    elif sees_file(session.spark, f"{path if folder is None else f'file://{folder}'}/.hoodie/hoodie.properties"):
        yield Check(name, "ok", f"they read {path}")
    elif folder is None:
        yield Check(name, "warn", f"{path} cannot be read by them, or holds no table yet", "see their rights and jars")
    else:
        fix = "put the lake where driver and executors see it at the same path (a mount, HDFS, an object store)"
        yield Check(name, "fail", f"{path} is a folder of this machine, which executors do not see", fix)


def _folder_modes(config: Config, environ: Environment) -> Iterator[Check]:
    """Who may look into folders where rows lie, or pass through. Our own scratch folders are of mode 0700."""
    reports, mode = config.reports, config.reports_mode
    yield from check_folder_mode("reports mode", reports, mode, f"chmod {mode:04o} {shlex.quote(str(reports))}")
    places = environ.get("SPARK_LOCAL_DIRS") or config.spark.conf.get("spark.local.dir", "")
    for place in filter(None, places.split(",") if is_local(config.spark.master or "") else ()):
        fix = "name a folder of mode 0700, or none: then the tool makes one for each run"
        yield from check_folder_mode("spark.local.dir", Path(place), OWNERS_MODE, fix)


def _python() -> Check:
    if sys.version_info < _LOWEST_PYTHON:
        return Check("python", "fail", f"Python {platform.python_version()}", "install Python 3.11 or newer")
    return Check("python", "ok", f"Python {platform.python_version()}")


def _java(environ: Environment) -> Check:
    try:
        java = find_java(environ)
    except ReconcileError as error:
        return build_failed_check("java", error)
    return Check("java", "ok", f"Java {java.major} from {java.origin}")


def _jars(request: SessionRequest, environ: Environment) -> Check:
    try:
        jars = list_jars(request.jars, request.conf, environ)
    except ReconcileError as error:
        return build_failed_check("jars", error)
    return check_jars([str(jar.coordinate) for jar in jars if jar.path is None], len(jars))


def _config(path: Path, config: Config, tables: tuple[TableConfig, ...]) -> Iterator[Check]:
    try:
        refuse_not_built(config, tables)
        load_rule_sets(tables)
    except ReconcileError as error:
        yield build_failed_check("config", error)
    else:
        yield Check("config", "ok", f"{path}, tables {', '.join(table.name for table in tables)}")
    secret = config.source.password
    if secret is not None and secret.is_literal:
        fix = "put it into a file and write password: ${file:secrets/NAME}"
        yield Check("password", "warn", "stands in the config in plain text", fix)


def _source_and_lake(config: Config, tables: tuple[TableConfig, ...], environ: Environment) -> Iterator[Check]:
    described: dict[str, SourceTable] = {}
    secret = config.source.password
    try:
        password = "" if secret is None else secret.reveal(environ, build_reader(config, environ))
    except ReconcileError as error:
        yield build_failed_check("password", error)
    else:
        yield from _source(config, password, tables, described, environ)
    for table in tables:
        yield from check_lake(build_job(table, "doctor"), described.get(table.name), partial(_origin, config, environ))
        yield from check_lock(table.name, build_job(table, "doctor").lake.path, table.lake.options, config.jars.paths)
        yield from check_writers(build_job(table, "doctor"))
        yield from check_catalog(table.name, table.lake.options, config.spark.conf, config.jars.paths)


def _origin(config: Config, environ: Environment, path: str) -> Origin:
    """Who wrote the table at the path, read by a JVM without Spark."""
    with open_bare_jvm(request_session(config), environ) as jvm:
        line = Timeline.open_in_bare_jvm(jvm, path)
        return read_origin(line, line.properties())


def _source(
    config: Config,
    password: str,
    tables: tuple[TableConfig, ...],
    described: dict[str, SourceTable],
    environ: Environment,
) -> Iterator[Check]:
    try:
        with open_engine_for_doctor(config, password, environ) as engine:
            yield from check_server(engine.server_facts())
            for table in tables:
                yield from _source_table(engine, table, described, zone=config.source.time_zone)
    except ReconcileError as error:
        yield build_failed_check("source", error)


def _source_table(
    engine: Engine, table: TableConfig, described: dict[str, SourceTable], *, zone: str
) -> Iterator[Check]:
    request = build_table_request(table)
    try:
        facts = engine.table_facts(request)
    except ReconcileError as error:
        yield build_failed_check(f"{table.name}: source", error)
        return
    described[table.name] = facts.table
    yield from check_table(table.name, facts, request, engine.dialect)
    folder = find_local_path(build_job(table, "doctor").lake.path)
    is_new = folder is not None and not (folder / ".hoodie" / "hoodie.properties").is_file()
    rules = None
    with suppress(ReconcileError):  # said by the checks of the config
        rules = load_rule_sets((table,)).get(table.name)
    yield from check_names(table, facts.table, rules, is_new=is_new)
    if facts.can_read:
        yield from check_rows(engine, table, facts.table, zone=zone)
