"""PURE: the settings of the one Spark session: what correctness needs, what is a default, who wins, and their text.

The reasons of the required ones were measured; the user's `spark.conf` wins over everything else. Settings go to Java as
the text of a properties file, which has an escape for every character.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hudi_reconcile.core.errors import UsageError, fold
from hudi_reconcile.core.safe_text import HIDDEN_SETTINGS

HUDI_EXTENSION = "org.apache.spark.sql.hudi.HoodieSparkSessionExtension"
TIME_ZONE_OPTION = "-Duser.timezone=UTC"

_EXTENSIONS = "spark.sql.extensions"
_JAVA_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")

SHUFFLES = "spark.sql.shuffle.partitions"
SUBSTITUTION = "spark.sql.variable.substitute"
_TIMESTAMP_TYPE = "spark.sql.timestampType"
_NAMES_AS_PATTERNS = "spark.sql.parser.quotedRegexColumnNames"

# Changing one of these changes what is read, written or called equal.
REQUIRED = {
    # Hudi's values travel between tasks only with its registrator.
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    # Timestamps are shown, cast and partitioned in the session's zone.
    "spark.sql.session.timeZone": "UTC",
    # With the other one, the word `timestamp` in SQL means one without a zone.
    _TIMESTAMP_TYPE: "TIMESTAMP_LTZ",
    # Without these, dates before 1900 are written and can never be read again.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInWrite": "CORRECTED",
    # Without it, an array with a NULL element fails the whole commit.
    "spark.hadoop.parquet.avro.write-old-list-structure": "false",
    # A file that the cleaner took, or that is damaged, must end a sweep: without its rows the rest would look complete.
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    # With it, Spark puts the environment's secret in for `${env:NAME}` in any SQL text: a column's name or a value may say so.
    SUBSTITUTION: "false",
    # With it, a quoted name in SQL text is a pattern: a column's name could choose another column.
    _NAMES_AS_PATTERNS: "false",
}
# Those of them that a session has without being told.
GIVEN = frozenset(
    {"spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles", _TIMESTAMP_TYPE, _NAMES_AS_PATTERNS}
)

_DEFAULTS = {
    "spark.app.name": "hudi-reconcile",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Spark writes each plan down for its pages, and again after each stage: in the shortest way, where nobody looks.
    "spark.sql.ui.explainMode": "simple",
    # By Hadoop's own, 20 tries within each of seven, a store that is down is asked for many minutes without a word; by these,
    # which are those of later versions and less, for half a minute.
    "spark.hadoop.fs.s3a.attempts.maximum": "5",
    "spark.hadoop.fs.s3a.retry.limit": "4",
    # Spark's own leaves the keys of some stores in clear, in its event log for example.
    "spark.redaction.regex": f"(?i){HIDDEN_SETTINGS}|passw|[.]key",
}

_GIB = 1 << 30
_LOCAL_TRIES = 3
_EXECUTOR_PATH = "spark.executor.extraClassPath"
_OURS = {
    "spark.master": "spark.master of the config, one level up",
    "spark.jars": "jars.paths, where each file is hashed and reported",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What the driver has to itself."""

    cores: int
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What goes into a JVM that we start ourselves: its master, its jars, its log settings, its scratch folder (0700).

    `short`: the run handles few rows, so that compiling quickly is worth more than compiling well. `jars` are those that
    Spark hands on, `executor_jars` those on each executor's machine, `java_options` what the JVM is told beside ours.
    """

    master: str
    log_settings: str
    scratch: str
    jars: Sequence[str] = ()
    executor_jars: Sequence[str] = ()
    java_options: str = ""
    short: bool = False


def build_session_conf(user: Mapping[str, str], launch: Launch | None, machine: Machine) -> dict[str, str]:
    """All settings of the session. `launch` is None under spark-submit, whose JVM is running already.

    Raises:
        UsageError: the user's settings contradict what correctness needs; names all of them at once.
    """
    _refuse_contradictions(user)
    conf = _DEFAULTS | (_launch_conf(launch, machine) if launch else {}) | dict(user) | REQUIRED
    conf[_EXTENSIONS] = _add_item(user.get(_EXTENSIONS, ""), HUDI_EXTENSION)
    if launch:
        conf["spark.jars"] = ",".join(launch.jars)
        if launch.executor_jars:
            conf[_EXECUTOR_PATH] = ":".join([*launch.executor_jars, *filter(None, [user.get(_EXECUTOR_PATH)])])
        for option in _JAVA_OPTIONS:
            given = user.get(option, "")
            ours = _driver_options(launch, given) if "driver" in option else TIME_ZONE_OPTION
            conf[option] = f"{ours} {given}".strip()
    return conf


def is_local(master: str) -> bool:
    """Whether the tasks run in this machine's one JVM.

    >>> is_local("local[2]"), is_local("spark://host:7077")
    (True, False)
    """
    return master == "local" or master.startswith("local[")


def place_jars(
    jars: Sequence[str], executor_folder: str | None, master: str
) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """The driver's class path, what Spark sends to executors, and what executors load from their own machines.

    Spark's `local:` addresses would do the last, too, but an executor that lacks the file dies at its start, and Spark starts
    another for ever. Raises UsageError where executors were to load their own and the driver's class path cannot name a jar:
    it would be sent after all.

    >>> place_jars(["/a/b.jar"], None, "local[2]"), place_jars(["/a/b.jar"], None, "spark://h:7077")
    ((['/a/b.jar'], [], []), ([], ['/a/b.jar'], []))
    >>> place_jars(["/a/b.jar"], "/opt/jars", "spark://h:7077")
    (['/a/b.jar'], [], ['/opt/jars/b.jar'])
    """
    divided = [jar for jar in jars if ":" in jar]
    if divided and executor_folder is not None:
        raise UsageError(
            f"jars.executor_folder: the driver's class path cannot name {divided[0]}, whose path has a colon",
            fix="have the jar in a folder without one (`jars.paths`, or the cache folder), or leave jars.executor_folder out",
        )
    if divided or not (executor_folder or is_local(master)):
        return [], jars, []
    return jars, [], [f"{executor_folder}/{Path(jar).name}" for jar in jars] if executor_folder else []


def add_retry(master: str) -> str:
    """A local master whose tasks are tried three times, as a cluster tries them four times; alone it would try once.

    >>> add_retry("local"), add_retry("local[*]"), add_retry("local[2,1]")
    ('local[1,3]', 'local[*,3]', 'local[2,1]')
    """
    if master == "local":
        return f"local[1,{_LOCAL_TRIES}]"
    match = re.fullmatch(r"local\[\s*(\d+|\*)\s*\]", master)
    return master if match is None else f"local[{match[1]},{_LOCAL_TRIES}]"


def count_shuffle_partitions(cores: int) -> int:
    """Two for each core, and four at the least.

    >>> count_shuffle_partitions(1), count_shuffle_partitions(16)
    (4, 32)
    """
    return max(4, 2 * cores)


def choose_driver_memory(memory_bytes: int) -> str:
    """A quarter of the machine's memory, at least 1 and at most 4 GiB.

    >>> choose_driver_memory(2 << 30), choose_driver_memory(10 << 30), choose_driver_memory(64 << 30)
    ('1024m', '2560m', '4096m')
    """
    return f"{min(max(memory_bytes // 4, _GIB), 4 * _GIB) >> 20}m"


def build_scratch_options(scratch: str) -> str:
    r"""Java options by which everything that Java and Spark lay down for a while lies in the scratch folder.

    That is `spark.local.dir` where the user sets none, unpacked native libraries, and what Hudi spills. The counters that
    a JVM else keeps in /tmp are left out.

    >>> build_scratch_options("/tmp/a b")
    '"-Djava.io.tmpdir=/tmp/a b" -XX:-UsePerfData'
    """
    quoted = scratch.replace("\\", "\\\\").replace('"', '\\"')
    return f'"-Djava.io.tmpdir={quoted}" -XX:-UsePerfData'


def _launch_conf(launch: Launch, machine: Machine) -> dict[str, str]:
    if not is_local(launch.master):
        # Evidence's rows come through the driver, and a plan goes back by it.
        return {
            "spark.master": launch.master,
            "spark.driver.memory": choose_driver_memory(machine.memory_bytes),
            "spark.sql.warehouse.dir": f"{launch.scratch}/warehouse",
        }
    return {
        "spark.master": add_retry(launch.master),
        "spark.driver.memory": choose_driver_memory(machine.memory_bytes),
        # Loopback only: no port is open to the network, and no host name must resolve.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Other users of the machine reach loopback too. Spark makes the secret itself, in its own memory.
        "spark.authenticate": "true",
        # Spark makes this folder even where nothing goes into it, by default in the working folder.
        "spark.sql.warehouse.dir": f"{launch.scratch}/warehouse",
        SHUFFLES: str(count_shuffle_partitions(machine.cores)),
        # A plan that is remade after each stage makes a job of each; there is little to coalesce where partitions are few.
        "spark.sql.adaptive.enabled": "false",
    }


def _driver_options(launch: Launch, given: str) -> str:
    options = [
        TIME_ZONE_OPTION,
        build_scratch_options(launch.scratch),
        f"-Dlog4j2.configurationFile={launch.log_settings}",
    ]
    if is_local(launch.master):
        # A collector that shares few cores with the work; the JVM refuses two, so the user's own choice stands.
        options += [] if "GC" in given else ["-XX:+UseParallelGC"]
        # The second compiler pays only after minutes: a first sweep of a million rows took 31 instead of 55 CPU seconds.
        # With one compiler the JVM sets 48 MB aside for what it compiled, and sweeps that all the time once it is full.
        options += ["-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"] if launch.short else []
        options += [launch.java_options] if launch.java_options else []
    # As YARN ends its executors: a JVM without memory else works on for minutes, collecting garbage, and ends nothing.
    options += [] if "OutOfMemoryError" in given else ["-XX:+ExitOnOutOfMemoryError"]
    return " ".join(options)


def _refuse_contradictions(user: Mapping[str, str]) -> None:
    problems = [
        f"{key} must be {REQUIRED[key]}, not {value}"
        for key, value in user.items()
        if key in REQUIRED and value.lower() != REQUIRED[key].lower()
    ]
    problems += [f"{key} belongs into {place}" for key, place in _OURS.items() if key in user]
    # Spark would not know it; whoever wrote it meant the other one.
    known = {fold(key): key for key in (*REQUIRED, *_OURS, *_JAVA_OPTIONS, _EXTENSIONS)}
    problems += [f"{key} is spelled {known[fold(key)]}" for key in user if known.get(fold(key), key) != key]
    problems += [
        f"{option} must not set another user.timezone than UTC"
        for option in _JAVA_OPTIONS
        if "-Duser.timezone=" in user.get(option, "").replace(TIME_ZONE_OPTION, "")
    ]
    if problems:
        raise UsageError("spark.conf: " + "; ".join(problems), fix="remove them from spark.conf")


def _add_item(listed: str, item: str) -> str:
    items = [part.strip() for part in listed.split(",") if part.strip()]
    return ",".join(items if item in items else [*items, item])


_ESCAPED = re.compile(r"[^A-Za-z0-9._/,-]")


def write_properties(settings: Mapping[str, str]) -> str:
    r"""One line a setting, ASCII alone.

    >>> write_properties({"spark.a": "x=\ny"})
    'spark.a=x\\u003d\\u000ay\n'
    """
    return "".join(f"{_escape(key)}={_escape(value)}\n" for key, value in settings.items())


def _escape(text: str) -> str:
    return _ESCAPED.sub(_units, text)


def _units(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
