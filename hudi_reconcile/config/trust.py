"""PURE: what a config tells a run to take unchecked. Every face of the run says it first: validate, doctor, result, report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hudi_reconcile.config.model import Config, JarsConfig, SourceConfig
from hudi_reconcile.config.source import transport_warning

_BY_DRIVER = "verify the server by the driver's own settings (docs/jdbc.md)"
_VERIFY = (
    "remove source.insecure and verify the server: ?sslmode=verify-full, &sslrootcert=PATH for a root of your own; over jdbc: "
    "by the driver's own settings (docs/jdbc.md)"
)

# Spark loads code by these, which no lock names and no result lists.
_CODE = frozenset({
    "spark.jars.packages", "spark.driver.extraClassPath", "spark.executor.extraClassPath", "spark.submit.pyFiles",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trust:
    """One check that the config gives up: the key that does, what therefore nobody proves, and the way back."""

    key: str
    sentence: str
    fix: str


def list_trust(config: Config) -> tuple[Trust, ...]:
    """All that this config gives up, in the order of its keys; nothing for a config that leaves every check on."""
    return (*_list_source_trust(config.source), *_list_spark_trust(config.spark.conf), *_list_jar_trust(config.jars))


def sentences(config: Config) -> tuple[str, ...]:
    """The same as a sentence each, for results and reports."""
    return tuple(trust.sentence for trust in list_trust(config))


def _list_source_trust(source: SourceConfig) -> Iterator[Trust]:
    if source.trust_properties:
        yield Trust(
            "source.trust_properties",
            "source.trust_properties is true: what source.url, source.driver and source.jdbc tell the JDBC driver goes to it "
            "unchecked, and may run SQL or code",
            "remove source.trust_properties, and what is refused then",
        )
    if warning := transport_warning(source.url, source.jdbc, insecure=source.insecure):
        yield Trust(warning.split(maxsplit=1)[0].rstrip(":"), warning, _VERIFY if source.insecure else _BY_DRIVER)


def _list_spark_trust(conf: Mapping[str, str]) -> Iterator[Trust]:
    if given := sorted(_CODE & set(conf)):
        yield Trust(
            "spark.conf",
            f"spark.conf sets {', '.join(given)}: code is loaded that nobody hashed and no result names",
            "list the files in jars.paths instead",
        )


def _list_jar_trust(jars: JarsConfig) -> Iterator[Trust]:
    if jars.executor_folder is not None:
        yield Trust(
            "jars.executor_folder",
            f"jars.executor_folder: executors load what lies in {jars.executor_folder}, known by its name, not its hash",
            "remove jars.executor_folder, and each start sends the hashed files",
        )
