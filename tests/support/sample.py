"""The report in `reports/sample`: `python -m tests.support.sample FOLDER` plays the shop anew, `--page` renders its page alone.

The run is a real one, with its own times. Who ran it and where is not: a reader has no use for the machine it was made on.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

from hudi_reconcile.app.archive import RunArchive
from hudi_reconcile.app.demo import CONFIG
from hudi_reconcile.app.host import NAME, find_actor
from hudi_reconcile.cli.main import run
from hudi_reconcile.core.plan.plan import Requirement, parse
from hudi_reconcile.core.plan.steps import build_plan_document
from hudi_reconcile.demo.postgres import run_postgres
from hudi_reconcile.demo.shop import make_drift, open_late_order, open_shop
from hudi_reconcile.evidence.store import Store
from tests.support.docs import ROOT

TABLE = "orders"
PLACE, BY, LOGIN, UID = "/srv/shop", "nightly", "reconcile@shop.example", "1000@shop.example"
_ROWS = 2_000
_RULES = "rules/orders.yaml"
_BEHIND_CLOCK_SECONDS = 3  # the ordinary order must be older than a pull's bound to be read
_PARTS = ("result.json", f"{TABLE}/plan.json", f"{TABLE}/coverage.json")


def main(folder: Path, *, page_only: bool) -> int:
    """Make the sample, or its page alone from what is there."""
    if not page_only:
        with tempfile.TemporaryDirectory(prefix="shop-") as name:
            place = Path(name).resolve()
            keep(play(place), place, folder)
    (folder / "report.html").write_bytes(page_of(folder))
    return 0


def play(place: Path) -> Path:
    """Pull the shop, let it drift, and run the night's command on it. Returns the run's folder."""
    os.environ[NAME] = BY
    with run_postgres() as server, chdir(place):
        shop = open_shop(server, _ROWS)
        Path("password").write_text(shop.reader_password)
        Path("password").chmod(0o600)
        Path("rules").mkdir()
        shutil.copy(ROOT / _RULES, _RULES)
        config = CONFIG.format(url=shop.reader_url).replace("secrets/shop_password", "password")
        Path("reconcile.yaml").write_text(f"{config}    rules: {_RULES}\n")
        with open_late_order(shop):
            pulled = run(["pull"])
        make_drift(shop)
        time.sleep(_BEHIND_CLOCK_SECONDS)
        codes = (pulled, run(["run"]))
    if codes != (0, 1):
        raise SystemExit(f"the shop's pull and run ended with {codes}, not with 0 and 1")
    store = Store(place / "reports")
    return store.reports / store.resolve("latest")


def keep(made: Path, place: Path, folder: Path) -> None:
    """What a run left, without a trace of the machine: its files, and no marks of Spark beside them."""
    who = find_actor(os.environ)
    said = {str(place): PLACE, who.login: LOGIN, who.uid: UID}
    texts = {name: neutral((made / name).read_text("utf-8"), said) for name in _PARTS}
    plan_file = f"{TABLE}/plan.json"
    texts[plan_file], ids = replanned((made / plan_file).read_text("utf-8"), said)
    texts["result.json"] = neutral(texts["result.json"], ids)
    for old in folder.glob(f"{TABLE}/**/*.parquet"):
        old.unlink()
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    for path in made.glob(f"{TABLE}/**/*.parquet"):
        to = folder / path.relative_to(made)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)


def replanned(text: str, said: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """A plan as one of the neutral place, and its new id by its old: the id covers the place."""
    found = json.loads(text)
    old = parse(found)
    requirements = tuple(Requirement(one.name, neutral(one.expected, said)) for one in old.requirements)
    new = replace(old, lake_path=neutral(old.lake_path, said), requirements=requirements)
    told = build_plan_document(new, created_utc=found["created_utc"], expires_utc=found["expires_utc"])
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n", {old.plan_id: new.plan_id}


def neutral(text: str, said: Mapping[str, str]) -> str:
    """The text with each word said otherwise."""
    for found, instead in said.items():
        text = text.replace(found, instead)
    return text


def page_of(folder: Path) -> bytes:
    """The page that `report` makes of the sample's files."""
    with tempfile.TemporaryDirectory() as name:
        archive = archive_of(folder, Path(name))
        _, path = archive.write_report("latest", Path(name) / "page.html")
        return path.read_bytes()


def archive_of(folder: Path, place: Path) -> RunArchive:
    """A reports folder at the place that holds the sample as its only run."""
    run_id = json.loads((folder / "result.json").read_text("utf-8"))["run_id"]
    shutil.copytree(folder, place / "reports" / run_id, ignore=shutil.ignore_patterns("README.md"))
    return RunArchive.of(place / "reports")


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), page_only="--page" in sys.argv[2:]))
