"""Fetches jars through Spark's own resolver (Ivy); knows nothing of sessions.

It runs in a JVM of its own, so that the bytes are checked before any other JVM loads them.
"""

from __future__ import annotations

import logging
import os
import shutil
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.spark import gateway
from hudi_reconcile.spark.jars import Jar, LockedJar, home_folder, verify
from hudi_reconcile.spark.java import JavaRuntime
from hudi_reconcile.spark.scratch import scratch_folder
from hudi_reconcile.spark.settings import scratch_options

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
        return Path(self.ivy) if self.ivy else home_folder(os.environ) / ".ivy2"


def resolve(missing: Sequence[LockedJar], settings: ResolverSettings, java: JavaRuntime) -> tuple[Path, ...]:
    """The files of these jars, fetched where Ivy does not have them yet; nothing they depend on comes along.

    Raises:
        UsageError: the resolver could not bring one; names the coordinates, the mirror settings and `jars fetch`.
    """
    coordinates = ",".join(jar.coordinate for jar in missing)
    _log.info("fetching %s (first start only)", coordinates)
    with scratch_folder() as scratch:
        conf = {
            "spark.ui.enabled": "false",
            "spark.driver.extraJavaOptions": scratch_options(str(scratch.path)),
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
        found = jvm.org.apache.spark.util.DependencyUtils.resolveMavenDependencies(
            transitive, excluded, coordinates, settings.repositories, settings.ivy,
            jvm.scala.Option.apply(settings.ivy_settings),
        )  # fmt: skip
    except Py4JJavaError as error:
        reason = gateway.telling_lines(f"Exception {error.java_exception.getMessage()}").removeprefix("Exception ")
        raise UsageError(
            f"Spark's resolver could not fetch {coordinates}: {reason}", fix=gateway.RESOLVER_FIX
        ) from error
    return tuple(Path(found.apply(index)) for index in range(found.size()))


def _trust_this_machine(jvm: Any, environ: Mapping[str, str]) -> None:
    # A Java from a wheel brings its own certificates; behind a company's proxy or mirror only the machine's
    # bundle knows the issuer, and Ivy reports the refused connection as "module not found".
    bundle = certificate_bundle(environ)
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


def certificate_bundle(environ: Mapping[str, str]) -> Path | None:
    """The file of certificates that this machine trusts: the one named in the environment, else the system's."""
    named = (environ.get(name) for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"))
    places = (*named, ssl.get_default_verify_paths().cafile, *_COMMON_BUNDLES)
    return next((Path(place) for place in places if place and Path(place).is_file()), None)
