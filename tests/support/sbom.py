"""The bill of materials, CycloneDX 1.6: `python -m tests.support.sbom FILE`. The same inputs give the same bytes."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import License
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from hudi_reconcile import __version__
from hudi_reconcile.spark.jars import list_locked_jars
from tests.support.parts import Part, bundled_parts, locked_packages, pyspark_jars

JAR_LICENCES = {
    "hudi-spark3.5-bundle_2.12": "Apache-2.0",
    "postgresql": "BSD-2-Clause",
    "mariadb-java-client": "LGPL-2.1-or-later",
}


def bom() -> Bom:
    """Packages of the lock with the jars inside PySpark, and locked jars with the parts inside the Hudi bundle."""
    whole = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"hudi-reconcile-{__version__}"))
    whole.metadata.timestamp = datetime(2000, 1, 1, tzinfo=UTC)  # the bytes depend on what is inside alone
    whole.metadata.component = Component(
        name="hudi-reconcile", version=__version__, type=ComponentType.APPLICATION, bom_ref="hudi-reconcile"
    )
    for part in locked_packages():
        inside = (
            [_jar(jar, f"pyspark/{jar.name}@{jar.version}") for jar in pyspark_jars()] if part.name == "pyspark" else []
        )
        whole.components.add(_package(part, inside))
    for jar in list_locked_jars():
        group, name, version = jar.coordinate.split(":")
        part = Part(name=name, version=version, group=group, sha256=(jar.sha256,), licence=JAR_LICENCES[name])
        inside = [_jar(one, f"hudi/{one.name}@{one.version}") for one in bundled_parts()] if "hudi-" in name else []
        whole.components.add(_jar(part, jar.coordinate, inside))
    whole.register_dependency(whole.metadata.component, whole.components)
    return whole


def text() -> str:
    """The bill as JSON."""
    return JsonV1Dot6(bom()).output_as_string(indent=2)


def _package(part: Part, inside: Iterable[Component]) -> Component:
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=one) for one in part.sha256]
    page = XsUri(f"https://pypi.org/project/{part.name}/{part.version}/")
    return Component(
        name=part.name,
        version=part.version,
        purl=PackageURL("pypi", name=part.name, version=part.version),
        bom_ref=f"{part.name}=={part.version}",
        licenses=_licences(part),
        external_references=[ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=page, hashes=hashes)],
        components=inside,
    )


def _jar(part: Part, ref: str, inside: Iterable[Component] = ()) -> Component:
    return Component(
        name=part.name,
        version=part.version,
        group=part.group or None,
        purl=PackageURL("maven", part.group, part.name, part.version) if part.group else None,
        bom_ref=ref,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=one) for one in part.sha256],
        licenses=_licences(part),
        components=inside,
    )


def _licences(part: Part) -> list[License]:
    return [LicenseFactory().make_from_string(part.licence)] if part.licence else []


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text(), "utf-8")
