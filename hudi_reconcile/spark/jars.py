"""The jars that Spark loads: which ones, whether they are the bytes that `jars.lock` names, and fetching those that are missing.

They are fetched by Spark's own resolver (Ivy) in a JVM of its own, so that the bytes are checked before any other JVM loads
them.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.spark import jvm as gateway
from hudi_reconcile.spark.jvm import JavaRuntime, find_java
from hudi_reconcile.spark.scratch import open_scratch
from hudi_reconcile.spark.settings import build_scratch_options

FOLDER_VARIABLE = "HUDI_RECONCILE_JARS"


class JarMode(StrEnum):
    """Where the locked jars come from (config `jars.mode`)."""

    AUTO = "auto"
    PACKAGES = "packages"
    PATHS = "paths"


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedJar:
    """One line of a `jars.lock`: the only bytes that may be loaded under this coordinate.

    `engine` is the only kind of source that needs it, by its folder below `databases`; empty where every session loads it.
    """

    coordinate: str
    file_name: str
    sha256: str
    engine: str = ""

    @property
    def ivy_name(self) -> str:
        """The file's name in the folder where Spark's resolver puts it."""
        return f"{self.coordinate.split(':')[0]}_{self.file_name}"

    @property
    def artifact(self) -> str:
        """The coordinate's middle part; two jars with the same one cannot be loaded together."""
        return self.coordinate.split(":")[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Jar:
    """A jar file as loaded. `coordinate` is None where it is not in the lock (given by hand)."""

    coordinate: str | None
    path: Path
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JarRequest:
    """The config's `jars`: the mode, and files to load beside, or with `paths` instead of, the locked ones.

    `engine` is the kind of source, where that has a jar of its own. `executor_folder` has the same files on the machine of each
    executor, which are then not sent.
    """

    mode: JarMode = JarMode.AUTO
    paths: tuple[Path, ...] = ()
    engine: str = ""
    executor_folder: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JarPlan:
    """Files that are here, and locked jars that the resolver must bring first."""

    present: tuple[Path, ...]
    missing: tuple[LockedJar, ...]


def list_locked_jars() -> tuple[LockedJar, ...]:
    """The jars that this version was tested with: those of every session, then those of one kind of source."""
    common = resources.files("hudi_reconcile.spark") / "jars.lock"
    jars = read_lock(common.read_text("utf-8"))
    for folder in sorted(resources.files("hudi_reconcile.databases").iterdir(), key=lambda entry: entry.name):
        if (own := folder / "jars.lock").is_file():
            jars += read_lock(own.read_text("utf-8"), engine=folder.name)
    return jars


def read_lock(text: str, *, engine: str = "") -> tuple[LockedJar, ...]:
    """The lines of a lock file: coordinate, file name and sha256. `#` begins a comment."""
    lines = (line.split() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return tuple(
        LockedJar(coordinate=coordinate, file_name=name, sha256=sha, engine=engine) for coordinate, name, sha in lines
    )


def plan_jars(request: JarRequest, lock: Sequence[LockedJar], folders: Iterable[Path]) -> JarPlan:
    """Which files to load: those given by hand, and for the rest the first folder that holds all of them.

    A file given by hand takes the place of the locked jar of the same artifact. `packages` looks into no folder.

    Raises:
        UsageError: a file given by hand is not there, or `paths` was chosen without any.
    """
    _refuse_missing(request)
    if request.mode is JarMode.PATHS:
        return JarPlan(present=request.paths, missing=())
    names = [path.name for path in request.paths]
    needed = (jar for jar in lock if jar.engine in ("", request.engine))
    wanted = tuple(jar for jar in needed if not any(name.startswith(f"{jar.artifact}-") for name in names))
    for folder in folders if request.mode is JarMode.AUTO else ():
        files = [_find_in_folder(folder, jar) for jar in wanted]
        here = tuple(file for file in files if file is not None)
        if len(here) == len(wanted):
            return JarPlan(present=here + request.paths, missing=())
    return JarPlan(present=request.paths, missing=wanted)


def list_jar_folders(environ: Mapping[str, str], ivy: Path) -> tuple[Path, ...]:
    """Where `auto` looks, in this order: `$HUDI_RECONCILE_JARS` alone if set, else our cache, then the resolver's.

    Raises:
        UsageError: the variable names no folder.
    """
    if named := environ.get(FOLDER_VARIABLE):
        if not Path(named).is_dir():
            raise UsageError(
                f"{FOLDER_VARIABLE}={named} is no folder", fix=f"unset it, or: hudi-reconcile jars fetch --to {named}"
            )
        return (Path(named),)
    return cache_folder(environ), ivy / "jars"


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where `jars fetch` puts the jars unless told otherwise."""
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else find_home(environ) / ".cache") / "hudi-reconcile" / "jars"


def find_home(environ: Mapping[str, str]) -> Path:
    """The user's home; `/` for a user id without an account, as containers have them."""
    try:
        return Path.home() if "HOME" not in environ else Path(environ["HOME"])
    except RuntimeError:
        return Path("/")


def verify(paths: Iterable[Path], lock: Sequence[LockedJar]) -> tuple[Jar, ...]:
    """The files with their hashes; those that carry a locked jar's name must be its very bytes.

    Raises:
        UsageError: a hash differs; names the jar, the expected and the found one.
    """
    named = {name: jar for jar in lock for name in (jar.file_name, jar.ivy_name)}
    return tuple(_verify_one(path, named.get(path.name)) for path in paths)


def hash_file(path: Path) -> str:
    """Hash of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=64)
def _hash_known(path: Path, _inode: int, _bytes: int, _modified_ns: int) -> str:
    # Calls that join a running Spark come by the hundred, and the bundle is large: the same file is read once.
    return hash_file(path)


def _verify_one(path: Path, locked: LockedJar | None) -> Jar:
    stat = path.stat()
    sha256 = _hash_known(path, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if locked is not None and locked.sha256 != sha256:
        raise UsageError(
            f"jar {path} is not {locked.coordinate}: sha256 expected {locked.sha256}, found {sha256}",
            fix=f"remove {path} and run: hudi-reconcile jars fetch",
        )
    return Jar(coordinate=locked.coordinate if locked else None, path=path, sha256=sha256)


def _find_in_folder(folder: Path, jar: LockedJar) -> Path | None:
    candidates = (folder / jar.file_name, folder / jar.ivy_name)
    return next((file for file in candidates if file.is_file()), None)


def _refuse_missing(request: JarRequest) -> None:
    if request.mode is JarMode.PATHS and not request.paths:
        raise UsageError("jars.mode is paths, and jars.paths is empty", fix="list the Hudi bundle and the JDBC driver")
    for path in request.paths:
        if not path.is_file():
            raise UsageError(f"jars.paths: {path} is no file", fix="give the path of a jar file")


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
    lock = list_locked_jars()
    plan = plan_jars(request, lock, list_jar_folders(environ, ResolverSettings.of(conf).folder))
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
    return fetch(list_locked_jars(), to or cache_folder(environ), ResolverSettings.of(conf), lambda: find_java(environ))


def bring_jars(
    request: JarRequest, conf: Mapping[str, str], java: JavaRuntime, environ: Mapping[str, str]
) -> tuple[Jar, ...]:
    """The files that a session loads, fetched where they are not here, every one checked.

    Raises:
        UsageError: as `list_jars` and `fetch_jars`.
    """
    lock = list_locked_jars()
    settings = ResolverSettings.of(conf)
    plan = plan_jars(request, lock, list_jar_folders(environ, settings.folder))
    fetched = resolve(plan.missing, settings, java) if plan.missing else ()
    return verify(fetched + plan.present, lock)


_log = logging.getLogger(__name__)

_COMMON_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverSettings:
    """Spark's own settings of its resolver; None means Spark's default."""

    ivy: str | None = None
    ivy_settings: str | None = None
    repositories: str | None = None

    @classmethod
    def of(cls, conf: Mapping[str, str]) -> ResolverSettings:
        """Taken from `spark.jars.ivy`, `spark.jars.ivySettings` and `spark.jars.repositories`."""
        return cls(
            ivy=conf.get("spark.jars.ivy"),
            ivy_settings=conf.get("spark.jars.ivySettings"),
            repositories=conf.get("spark.jars.repositories"),
        )

    @property
    def folder(self) -> Path:
        """Ivy's home; resolved jars lie in its `jars`."""
        return Path(self.ivy) if self.ivy else find_home(os.environ) / ".ivy2"


def resolve(missing: Sequence[LockedJar], settings: ResolverSettings, java: JavaRuntime) -> tuple[Path, ...]:
    """The files of these jars, fetched where Ivy does not have them yet; nothing they depend on comes along.

    Raises:
        UsageError: the resolver could not bring one; names the coordinates, the mirror settings and `jars fetch`.
    """
    coordinates = ",".join(jar.coordinate for jar in missing)
    _log.info("fetching %s (first start only)", coordinates)
    with open_scratch() as scratch:
        conf = {
            "spark.ui.enabled": "false",
            "spark.driver.extraJavaOptions": build_scratch_options(str(scratch.path)),
        }
        jvm = gateway.launch(conf, java, scratch)
        try:
            if java.from_wheel:
                _trust_this_machine(jvm.gateway.jvm, os.environ)
            return _ask_ivy(jvm.gateway.jvm, coordinates, settings)
        finally:
            gateway.end(jvm.gateway)


def fetch(
    lock: Sequence[LockedJar], to: Path, settings: ResolverSettings, find: Callable[[], JavaRuntime]
) -> tuple[Jar, ...]:
    """Put the locked jars into a folder, so that later starts need no network. Files that are there stay.

    Raises:
        UsageError: the resolver failed, or a fetched file is not the locked one.
    """
    to.mkdir(parents=True, exist_ok=True)
    missing = [jar for jar in lock if not (to / jar.file_name).is_file()]
    fetched = verify(resolve(missing, settings, find()), lock) if missing else ()
    names = {jar.coordinate: jar.file_name for jar in lock}
    for jar in fetched:
        name = names[jar.coordinate or ""]
        part = to / f".{name}.{os.getpid()}.part"
        shutil.copyfile(jar.path, part)
        part.replace(to / name)
    return verify((to / jar.file_name for jar in lock), lock)


# --- inside the JVM --------------------------------------------------------------------------------------------------


def _ask_ivy(jvm: Any, coordinates: str, settings: ResolverSettings) -> tuple[Path, ...]:
    from py4j.protocol import Py4JJavaError

    transitive, excluded = False, None
    try:
        paths = jvm.org.apache.spark.util.DependencyUtils.resolveMavenDependencies(
            transitive, excluded, coordinates, settings.repositories, settings.ivy,
            jvm.scala.Option.apply(settings.ivy_settings),
        )  # fmt: skip
    except Py4JJavaError as error:
        reason = gateway.find_trouble(f"Exception {error.java_exception.getMessage()}").removeprefix("Exception ")
        raise UsageError(
            f"Spark's resolver could not fetch {coordinates}: {reason}", fix=gateway.RESOLVER_FIX
        ) from error
    return tuple(Path(paths.apply(index)) for index in range(paths.size()))


def _trust_this_machine(jvm: Any, environ: Mapping[str, str]) -> None:
    # A Java from a wheel brings its own certificates; behind a company's proxy or mirror only the machine's
    # bundle knows the issuer, and Ivy reports the refused connection as "module not found".
    bundle = find_certificate_bundle(environ)
    if bundle is None:
        return
    store = jvm.java.security.KeyStore.getInstance("PKCS12")
    store.load(None, None)
    stream = jvm.java.io.FileInputStream(str(bundle))
    try:
        certificates = jvm.java.security.cert.CertificateFactory.getInstance("X.509").generateCertificates(stream)
    finally:
        stream.close()
    for number, certificate in enumerate(certificates):
        store.setCertificateEntry(str(number), certificate)
    trust = jvm.javax.net.ssl.TrustManagerFactory
    managers = trust.getInstance(trust.getDefaultAlgorithm())
    managers.init(store)
    context = jvm.javax.net.ssl.SSLContext.getInstance("TLS")
    context.init(None, managers.getTrustManagers(), None)
    jvm.javax.net.ssl.SSLContext.setDefault(context)


def find_certificate_bundle(environ: Mapping[str, str]) -> Path | None:
    """The file of certificates that this machine trusts: the one named in the environment, else the system's."""
    named = (environ.get(name) for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"))
    places = (*named, ssl.get_default_verify_paths().cafile, *_COMMON_BUNDLES)
    return next((Path(place) for place in places if place and Path(place).is_file()), None)
