"""What `doctor` says of the catalog that is to show a table: by which tool, and whether it can be reached. Writes nothing."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from hudi_reconcile.app.doctor.lake import hold_classes
from hudi_reconcile.app.doctor.server import Check, Status
from hudi_reconcile.core.lake.catalog_sync import HIVE_TOOL, URIS, choose_sync

_METASTORE = "spark.hadoop.hive.metastore.uris"
_EMBEDDED = "spark.hadoop.javax.jdo.option.ConnectionURL"
_OF_SPARK = "hoodie.datasource.hive_sync.use_spark_catalog"
_IN_BUNDLE = "org.apache.hudi.hive."
_PORT, _PATIENCE_SECONDS = 9083, 3.0


def check_catalog(
    name: str, options: Mapping[str, str], spark_conf: Mapping[str, str], jars: Sequence[Path]
) -> Iterator[Check]:
    """The sync of one table's `lake.options`; nothing where none is switched on. `jars` are those of the config."""
    sync = choose_sync(options)
    if sync is None:
        return
    check = f"{name}: catalog"
    missing = [tool for tool in sync.tools if not tool.startswith(_IN_BUNDLE) and not hold_classes(jars, (tool,))]
    if missing:
        fix = "name the jar that holds it in jars.paths: docs/catalogs.md"
        yield Check(check, "fail", f"{', '.join(missing)} is in no jar of jars.paths", fix)
    if HIVE_TOOL in sync.tools and sync.options.get(_OF_SPARK, "").lower() == "true":
        yield Check(check, "ok", "the catalog of the session that runs the command (not tried)")
    elif HIVE_TOOL in sync.tools and sync.mode == "hms":
        yield _metastore(check, sync.options.get(URIS) or spark_conf.get(_METASTORE, ""), spark_conf)
    elif HIVE_TOOL in sync.tools:
        fix = "lake: {options: {hoodie.datasource.hive_sync.mode: hms}}"
        yield Check(check, "warn", f"it is synced through {sync.mode or 'HiveServer2'}, which was not tried", fix)
    elif not missing:
        yield Check(check, "ok", f"{', '.join(sync.tools)} syncs it (not tried)")


def _metastore(check: str, uris: str, spark_conf: Mapping[str, str]) -> Check:
    addresses = [address for uri in uris.split(",") if (address := uri.strip())]
    if not addresses:
        of_conf = "its database is in spark.conf" if _EMBEDDED in spark_conf else "spark.conf does not say where it is"
        return Check(check, "ok", f"the Hive metastore is that of the session: {of_conf} (not tried)")
    deaf = [address for address in addresses if not _answers(address)]
    if not deaf:
        return Check(check, "ok", f"the Hive metastore takes connections at {', '.join(addresses)}")
    status: Status = "fail" if deaf == addresses else "warn"
    fix = "start it, or correct the address; until then pulls and applies commit, and end with exit 3"
    return Check(check, status, f"no Hive metastore takes a connection at {', '.join(deaf)}", fix)


def _answers(uri: str) -> bool:
    with suppress(OSError, ValueError):
        address = urlsplit(uri)
        with socket.create_connection((address.hostname or "", address.port or _PORT), timeout=_PATIENCE_SECONDS):
            return True
    return False
