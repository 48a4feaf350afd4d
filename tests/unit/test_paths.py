"""Documents name files that exist, and the guides of CONTRIBUTING name the files that really know the matter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# A file of the product, below its package or with it; or one of the tests, benchmarks, examples and documents.
PRODUCT = re.compile(r"`(?:hudi_reconcile/)?((?:[a-z_]+/)+[a-z_]+\.(?:py|lock|html|css))`")
OTHER = re.compile(r"`?((?:tests|bench|docs|examples)/[\w./-]+\.(?:py|md|yaml|yml|toml|json))\b")
ROOMS = {path.name for path in (ROOT / "hudi_reconcile").iterdir() if path.is_dir()}
SOURCES = [
    path for folder in ("hudi_reconcile", "tests", "bench", "docs") for path in sorted((ROOT / folder).rglob("*.*"))
    if path.suffix in {".py", ".md", ".toml"}
]  # fmt: skip
# References that only a person with papers of ours could follow.
FOREIGN = re.compile(r"contract §|research: |correctness\.md|style rule|design §")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_that_a_document_names_is_there(document: Path) -> None:
    text = document.read_text("utf-8")
    named = {name for name in PRODUCT.findall(text) if name.split("/")[0] in ROOMS}
    others = {name for name in OTHER.findall(text) if "*" not in name and "…" not in name}

    assert sorted(name for name in named if not (ROOT / "hudi_reconcile" / name).is_file()) == []
    assert sorted(name for name in others if not (ROOT / name).is_file()) == []


def test_no_text_sends_its_reader_to_papers_that_are_not_here() -> None:
    found = [str(path.relative_to(ROOT)) for path in SOURCES if FOREIGN.search(path.read_text("utf-8"))]

    assert found == [str(Path(__file__).relative_to(ROOT))]


def test_decisions_are_numbered_without_a_gap_and_begin_alike() -> None:
    pages = sorted((ROOT / "docs" / "adr").glob("*.md"))

    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        title, blank, status, *_ = page.read_text("utf-8").splitlines()
        assert title.startswith(f"# {int(page.name[:4])}. ")
        assert blank == ""
        assert re.match(r"Status: (accepted|withdrawn), 20\d\d-\d\d\.", status)
