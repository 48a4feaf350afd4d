"""Opens and ends the one SparkSession of the process, and names what an exception from Spark means.

The text of a driver's innermost cause is the server's first line, never a row. Nothing here prints; the JVM's own output
goes to stderr (`spark/jvm.py`). `doctor`, which only asks JDBC drivers, gets a JVM without a session.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from hudi_reconcile.core.errors import ReconcileError, SourceError, SparkLostError, UsageError, explain_full_disk
from hudi_reconcile.core.lake.ownership import find_cleaner_error
from hudi_reconcile.core.pull.retry import advise_on_read, find_driver_reason
from hudi_reconcile.core.safe_text import read_message, redact_message
from hudi_reconcile.spark import jvm as gateway
from hudi_reconcile.spark.class_archive import ClassArchive, find_archive, is_usable, list_parts
from hudi_reconcile.spark.cluster import (
    explain_lost_rows,
    follow_cluster,
    is_from_java,
    read_machine,
    refuse_missing_jars,
    walk_causes,
)
from hudi_reconcile.spark.jars import Jar, JarRequest, bring_jars, cache_folder, list_jars, list_locked_jars, verify
from hudi_reconcile.spark.jvm import JavaRuntime, find_java
from hudi_reconcile.spark.scratch import Scratch, make_scratch, open_scratch
from hudi_reconcile.spark.settings import (
    GIVEN,
    HUDI_EXTENSION,
    REQUIRED,
    SUBSTITUTION,
    TIME_ZONE_OPTION,
    Launch,
    Machine,
    build_scratch_options,
    build_session_conf,
    is_local,
    place_jars,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_JAVA_TEXT_CHARS = 4000
_LAST_SECONDS = 3
_HUDI_CLASS = "org.apache.hudi.DefaultSource"
_SUBMIT_FIX = (
    "spark-submit --packages org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"
    " --conf spark.driver.extraJavaOptions=-Duser.timezone=UTC"
    " --conf spark.executor.extraJavaOptions=-Duser.timezone=UTC ..."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """What the config says of Spark: `spark.master`, `spark.conf` and `jars`; `short` where few rows are expected.

    `master` is None where a session is to be joined and none started.

    `hidden` names the environment variables that hold the config's secrets: a JVM that is started does not get them.

    `archives`: a JVM of ours may write its class archive as it ends, where there is none.
    """

    master: str | None = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)
    jars: JarRequest = field(default_factory=JarRequest)
    short: bool = False
    hidden: frozenset[str] = frozenset()
    archives: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The open session and what it stands on. `java`, `jvm` and `scratch` are None where spark-submit started the JVM.

    Who changes a setting or a view of the session for a while holds `alone`: tables side by side share both.
    """

    spark: SparkSession
    jars: tuple[Jar, ...]
    java: JavaRuntime | None
    java_version: str
    spark_version: str
    start_seconds: float
    scratch: Scratch | None = None
    jvm: gateway.Jvm | None = None
    driver_memory: str = ""
    alone: AbstractContextManager[object] = field(default_factory=threading.RLock, repr=False, compare=False)


@contextmanager
def open_session(request: SessionRequest, environ: Mapping[str, str] = os.environ) -> Iterator[Session]:
    """The session for the length of a block; a JVM that was started for it has ended afterwards."""
    session = start_session(request, environ)
    try:
        yield session
    except Exception as error:
        _keep_java_text(error)
        raise
    finally:
        stop_session(session)


def start_session(request: SessionRequest, environ: Mapping[str, str] = os.environ) -> Session:
    """Start Spark with checked jars, or join the JVM that spark-submit or a notebook has started.

    Raises:
        UsageError: no fitting Java, a jar is missing or has other bytes, a setting contradicts correctness,
            or the JVM did not start.
    """
    started = time.monotonic()
    if _jvm_is_running(environ):
        with _kept_signals():
            return _describe(_join(request), started)
    if request.master is None:
        raise UsageError(
            "spark.master is null, and no Spark runs in this process that could be joined",
            fix="start it by spark-submit or from a notebook's session, or set spark.master, such as local[*]",
        )
    scratch = make_scratch()
    try:
        with _kept_signals():
            spark, java, jvm = _launch(request, request.master, environ, scratch)
    except BaseException:
        scratch.remove()
        raise
    try:
        memory = spark.conf.get("spark.driver.memory", None) or ""
        described = _describe(spark, started, map(Path, jvm.class_path))
        session = replace(described, java=java, scratch=scratch, jvm=jvm, driver_memory=memory)
    except BaseException:
        _end(spark, scratch, jvm)
        raise
    atexit.register(stop_session, session)  # whoever took rows from `hudi_reconcile.changes` stops nothing
    return session


def stop_session(session: Session) -> None:
    """Stop Spark and its JVM, unless spark-submit or a notebook started it. May be called twice."""
    atexit.unregister(stop_session)
    stopped = session.spark.sparkContext._jsc is None  # noqa: SLF001 - pyspark has no public word for it
    if session.scratch is not None and not stopped:
        _end(session.spark, session.scratch, session.jvm)
    elif session.scratch is not None:
        session.scratch.remove()


# --- our own JVM -----------------------------------------------------------------------------------------------------


def _launch(
    request: SessionRequest, master: str, environ: Mapping[str, str], scratch: Scratch
) -> tuple[SparkSession, JavaRuntime, gateway.Jvm]:
    machine = read_machine()
    with resources.as_file(resources.files("hudi_reconcile.spark") / "log4j2.properties") as log_settings:
        launch = Launch(
            master=master,
            log_settings=str(log_settings),
            scratch=str(scratch.path),
            short=request.short,
        )
        build_session_conf(request.conf, launch, machine)  # refuse a contradiction before anything is fetched
        java = find_java(environ)
        jars = [str(jar.path) for jar in bring_jars(request.jars, request.conf, java, environ)]
        class_path, sent, executor_jars = place_jars(jars, request.jars.executor_folder, master)
        archive = _find_archive(request, java, class_path, environ) if class_path and is_local(master) else None
        options = archive.option if archive else ""
        launch = replace(launch, jars=sent, executor_jars=executor_jars, java_options=options)
        conf = build_session_conf(request.conf, launch, machine)
        locks = [archive.lock] if archive is not None and archive.lock is not None else []
        try:
            jvm = gateway.launch(conf, java, scratch, hidden=request.hidden, class_path=class_path, locks=locks)
        finally:
            for lock in locks:
                os.close(lock)  # Java alone holds it from here on
        jvm = replace(jvm, writes_archive=bool(locks))
    if is_local(master):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else Spark takes any python3 on PATH
    spark = _make_context(jvm, conf, request.conf, master, executor_jars)
    jvm.output.pass_on()
    return spark, java, jvm


def _make_context(
    jvm: gateway.Jvm, conf: Mapping[str, str], user: Mapping[str, str], master: str, executor_jars: Sequence[str]
) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    try:
        context = SparkContext(conf=SparkConf(_jvm=jvm.gateway.jvm).setAll(list(conf.items())), gateway=jvm.gateway)
        spark = SparkSession(context)
        if not is_local(master):
            follow_cluster(spark, user, master)
            if executor_jars:
                refuse_missing_jars(spark, jvm.class_path, executor_jars)
    except BaseException as error:
        gateway.end(jvm.gateway)
        _forget_gateway()
        if is_from_java(error) and not is_local(master):
            raise _unreachable(master, jvm) from error
        raise
    return spark


def _unreachable(master: str, jvm: gateway.Jvm) -> UsageError:
    shown = gateway.find_trouble(jvm.output.tail())
    return UsageError(
        f"spark.master {master} gave no session{': ' if shown else ''}{shown}",
        fix="see that the master runs and its port can be reached from here, and check spark.conf: hudi-reconcile doctor",
    )


def _find_archive(
    request: SessionRequest, java: JavaRuntime, class_path: Sequence[str], environ: Mapping[str, str]
) -> ClassArchive | None:
    import pyspark

    spark_home = Path(environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    if not is_usable(request.conf, environ, spark_home):
        return None
    parts = list_parts(java.home, spark_home / "jars", [Path(jar) for jar in class_path])
    folder = cache_folder(environ).parent / "classes"
    return find_archive(folder, parts, may_make=request.archives, now_seconds=time.time())


def _end(spark: SparkSession, scratch: Scratch, jvm: gateway.Jvm | None) -> None:
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    running = spark.sparkContext._gateway  # noqa: SLF001 - pyspark has no public way to end the JVM
    try:
        with suppress(Py4JError, OSError):  # the JVM is gone: that is what is wanted
            spark.stop()
    finally:
        # Where the JVM was gone, pyspark stopped half way, and a later session of this process would be the old one.
        SparkContext._active_spark_context = None  # noqa: SLF001
        SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001
        if running is not None and jvm is not None and jvm.writes_archive:
            gateway.end(running, patience_seconds=0)
        elif running is not None:
            gateway.end(running)
        _forget_gateway()
        scratch.remove()


@contextmanager
def _kept_signals() -> Iterator[None]:
    """Pyspark takes SIGINT for itself when it makes a context: the process's own handler is put back."""
    if threading.current_thread() is not threading.main_thread():  # pyspark leaves signals alone, and so must others
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def has_lost_java(session: Session) -> bool:
    """Whether the JVM under a session is gone; False where it is not ours to know."""
    return session.jvm is not None and gateway.has_ended(session.jvm)


def explain_loss(session: Session, error: BaseException) -> SparkLostError | None:
    """What ended the JVM under a session, where an error came of that; None where it lives, or is not ours to know.

    A named error that Java had no part in stays what it is, whatever became of Java since.
    """
    has_java_part = any(map(is_from_java, walk_causes(error)))
    if session.jvm is None or (isinstance(error, ReconcileError) and not has_java_part):
        return None
    if not gateway.has_ended(session.jvm, patience_seconds=_LAST_SECONDS if has_java_part else 0):
        return None
    tail = session.jvm.output.tail()
    again = "run the same command again: what is done stays"
    if "OutOfMemoryError" in tail:
        given = f" (it may use {session.driver_memory})" if session.driver_memory else ""
        return SparkLostError(
            f"Spark's Java ran out of memory{given} while the table was worked on",
            fix=f"give it more, spark.conf: {{spark.driver.memory: 8g}}, then {again}",
        )
    shown = gateway.find_trouble(tail)
    return SparkLostError(f"Spark's Java ended while the table was worked on{': ' if shown else ''}{shown}", fix=again)


def _forget_gateway() -> None:
    from pyspark import SparkContext

    SparkContext._active_spark_context = None  # noqa: SLF001 - it ended with its JVM
    SparkContext._gateway = None  # noqa: SLF001 - else the next context would talk to the ended JVM
    SparkContext._jvm = None  # noqa: SLF001


def _keep_java_text(error: BaseException) -> None:
    # Errors from Java fetch their text from the JVM when they are printed, which is after the JVM has ended.
    for cause in walk_causes(error):
        if type(cause).__module__.startswith(("py4j.", "pyspark.")):
            cause.add_note(read_message(cause)[:_JAVA_TEXT_CHARS])


# --- a JVM that was there before us ----------------------------------------------------------------------------------


def _jvm_is_running(environ: Mapping[str, str]) -> bool:
    from pyspark import SparkContext

    return "PYSPARK_GATEWAY_PORT" in environ or SparkContext._active_spark_context is not None  # noqa: SLF001


def _join(request: SessionRequest) -> SparkSession:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    conf = build_session_conf(request.conf, None, Machine(cores=1, memory_bytes=0))
    spark = SparkSession.getActiveSession()
    if spark is None:
        spark = SparkSession.builder.config(conf=SparkConf().setAll(list(conf.items()))).getOrCreate()
    spark.conf.set(SUBSTITUTION, REQUIRED[SUBSTITUTION])  # on in every session that nobody told
    lacking = [key for key, value in REQUIRED.items() if spark.conf.get(key, value if key in GIVEN else None) != value]
    if HUDI_EXTENSION not in (spark.conf.get("spark.sql.extensions", None) or ""):
        lacking.append("spark.sql.extensions")
    if get_jvm(spark).java.util.TimeZone.getDefault().getID() != "UTC":
        lacking.append(TIME_ZONE_OPTION)
    if lacking:
        raise UsageError(f"the running Spark lacks what correctness needs: {', '.join(lacking)}", fix=_SUBMIT_FIX)
    return spark


# --- either way ------------------------------------------------------------------------------------------------------


def _describe(spark: SparkSession, started: float, class_path: Iterable[Path] = ()) -> Session:
    gateway.keep_names(get_jvm(spark))
    _require_hudi(spark)
    return Session(
        spark=spark,
        jars=verify((*class_path, *_loaded_jars(spark)), list_locked_jars()),
        java=None,
        java_version=str(get_jvm(spark).java.lang.System.getProperty("java.version")),
        spark_version=spark.version,
        start_seconds=time.monotonic() - started,
    )


def _loaded_jars(spark: SparkSession) -> list[Path]:
    addresses = [part for part in (spark.conf.get("spark.jars", None) or "").split(",") if part]
    local = [urlparse(address) for address in addresses]
    return [Path(unquote(address.path)) for address in local if address.scheme in ("", "file", "local")]


def _require_hudi(spark: SparkSession) -> None:
    from py4j.protocol import Py4JJavaError

    try:
        get_jvm(spark).org.apache.spark.util.Utils.classForName(_HUDI_CLASS, False, False)  # noqa: FBT003 - Java's own
    except Py4JJavaError as error:
        raise UsageError("Hudi is not among the loaded jars", fix=_SUBMIT_FIX) from error


def cancel_jobs(spark: SparkSession) -> None:
    """End all that Spark works at: whoever waits for it gets an error."""
    spark.sparkContext.cancelAllJobs()


@contextmanager
def tag_jobs(spark: SparkSession) -> Iterator[Callable[[], None]]:
    """Yields what cancels the jobs of this block from another thread, and no other's: they carry a tag of their own.

    Not a job group, which Hudi sets as it goes. A thread that the block starts has to be given the property `spark.job.tags`.
    """
    context, tag = spark.sparkContext, f"hudi-reconcile-{uuid.uuid4().hex}"
    context.addJobTag(tag)
    try:
        yield partial(context.cancelJobsWithTag, tag)
    finally:
        with suppress(Exception):  # Java is gone, and the tag with it
            context.removeJobTag(tag)


def get_jvm(spark: SparkSession) -> Any:
    """The session's JVM, by py4j."""
    return spark._jvm  # noqa: SLF001 - pyspark's own door to the JVM


def translate_error(error: BaseException) -> ReconcileError | None:
    """The error by name of what a JDBC driver, a cleaned snapshot, a lost executor or a full disk caused; else None."""
    if not type(error).__module__.startswith(("py4j.", "pyspark.")):
        return explain_full_disk(error)
    words = read_message(error)
    driver_reason = find_driver_reason(words)
    if driver_reason is None:
        return find_cleaner_error(words) or explain_lost_rows(words) or explain_full_disk(error, words)
    name, reason = driver_reason
    reason = redact_message(reason, kind=name, whole=words)
    return SourceError(f"the source failed while rows were read: {reason[:300]}", fix=advise_on_read(reason))


@contextmanager
def open_bare_jvm(request: SessionRequest, environ: Mapping[str, str] = os.environ) -> Iterator[Any]:
    """The JVM of this process where Spark runs already, else one for the length of the block. Fetches no jar.

    Raises:
        UsageError: no fitting Java, or a jar is missing or has other bytes.
    """
    from pyspark import SparkContext

    running = SparkContext._jvm if SparkContext._active_spark_context is not None else None  # noqa: SLF001
    if running is not None:
        yield running
        return
    jars = [str(jar.path) for jar in list_jars(request.jars, request.conf, environ) if jar.path is not None]
    with open_scratch() as scratch:
        conf = {
            "spark.ui.enabled": "false",
            "spark.jars": ",".join(jars),
            "spark.driver.extraJavaOptions": f"{TIME_ZONE_OPTION} {build_scratch_options(str(scratch.path))}",
        }
        jvm = gateway.launch(conf, find_java(environ), scratch, hidden=request.hidden)
        try:
            yield jvm.gateway.jvm
        finally:
            gateway.end(jvm.gateway)
