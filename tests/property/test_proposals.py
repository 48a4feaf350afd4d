"""Proposals of hostile catalogs: what is written is read back as meant, and proposals stand on the catalog's word."""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.load import parse_config
from hudi_reconcile.config.overlay import NO_OVERLAY
from hudi_reconcile.config.proposals import legal_name, proposed_files, read_base, show_line, source_text, spell
from hudi_reconcile.config.secrets import Template, read_text_file
from hudi_reconcile.config.yaml_document import read_document
from hudi_reconcile.core.source.proposal import CatalogColumn, CatalogTable, UniqueKey, name_tables, propose_table
from hudi_reconcile.core.tables.kinds import Column, Kind

URL = "postgresql+psycopg://reader@127.0.0.1:5432/shop"
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12).filter(
    lambda text: bool(text.strip())
)
WORDS = st.sampled_from(["id", "a b", "updated_at", "created_at", "note", "${env:X}", "null", "é", 'a"b', "x\ny"])


@st.composite
def tables(draw: st.DrawFn) -> CatalogTable:
    names = draw(st.lists(NAMES | WORDS, min_size=1, max_size=5, unique_by=str.lower))
    kinds = st.sampled_from(list(Kind))
    columns = [
        CatalogColumn(
            Column(name, draw(kinds), draw(NAMES), nullable=draw(st.booleans())), numbered=draw(st.booleans()),
            moved_by=draw(st.sampled_from(["", "trigger\n- x"])),
        )
        for name in names
    ]  # fmt: skip
    keys = draw(st.lists(st.lists(st.sampled_from(names), min_size=1, unique=True), max_size=2))
    return CatalogTable(
        title=draw(NAMES),
        sql=draw(NAMES),
        columns=tuple(columns),
        keys=tuple(UniqueKey(tuple(key), draw(st.booleans()), draw(st.booleans())) for key in keys),
        indexed=draw(st.none() | st.just(frozenset(names))),
        ranged=draw(st.sampled_from(["", *names])),
        unread=draw(st.sampled_from(["", "", "", "no right\nto it"])),
    )


@given(NAMES)
@example("null")
@example("a\ufffeb\U000e0001")
@example("$${env:X}")
def test_text_is_read_back_as_it_was_spelled_and_never_as_a_reference(text: str) -> None:
    for document in (f"- {spell(text)}", f"[{spell(text)}]"):
        found = read_document(document)
        assert found.problems == []
        assert "".join(map(str, Template.parse(found.values[0]).parts)) == text  # type: ignore[index]
    assert read_document(f"a: 1  # {show_line(text)}\nb: 2\n").values == {"a": 1, "b": 2}


@given(st.lists(tables(), min_size=1, max_size=4))
def test_config_of_any_catalog_is_valid_and_says_what_was_proposed(found: list[CatalogTable]) -> None:
    titles = [table.title for table in found]
    names = name_tables(titles, {title: legal_name(title) for title in titles})
    proposals = [propose_table(table, name, {}) for table, name in zip(found, names, strict=True)]
    place = Place("reconcile.yaml", Path("/shop"))
    base = read_base(source_text(URL, "${env:P}"), place, {}, read_text_file, NO_OVERLAY, folder=place.folder)

    text = proposed_files(base, proposals, "127.0.0.1\nversion: 2")["reconcile.yaml"]

    left_out = [read_document(line[1:]) for line in text.splitlines() if line.startswith("#  - ")]
    assert [one.values[0]["name"] for one in left_out] == [one.name for one in proposals if one.hindrance]  # type: ignore[index]
    taken = {one.name: one for one in proposals if not one.hindrance}
    if not taken:
        return
    config = parse_config(text, place, {}, read_text_file).config
    assert [table.name for table in config.tables] == list(taken)
    for table in config.tables:
        one = taken[table.name]
        assert (table.source.table, table.source.key) == (one.table.sql, one.key.values)
        assert (table.pull.strategy,) == one.strategy.values
        assert (table.pull.watermark, table.pull.incrementing or "") == (
            one.watermark.values, next(iter(one.incrementing.values), ""),
        )  # fmt: skip


@given(tables())
def test_key_is_unique_by_the_catalog_and_watermark_is_a_time_that_every_pull_can_read(table: CatalogTable) -> None:
    found = propose_table(table, "t", {})

    by_name = {one.column.name: one.column for one in table.columns}
    if not found.hindrance:
        assert any(one.is_primary or one.is_proof for one in table.keys if one.names == found.key.values)
        assert {by_name[name].kind for name in found.key.values}.isdisjoint({Kind.REAL, Kind.DOUBLE, Kind.OTHER})
    assert len({by_name[name].kind for name in found.watermark.values}) <= 1
    assert {by_name[name].kind for name in found.watermark.values} <= {Kind.TIMESTAMP, Kind.TIMESTAMPTZ}
    assert bool(found.watermark.values) is found.strategy.values[0].startswith("timestamp")
    assert bool(found.incrementing.values) is found.strategy.values[0].endswith("incrementing")
    for name in found.incrementing.values:
        assert by_name[name].kind in (Kind.INTEGER, Kind.DECIMAL)
        assert not by_name[name].nullable
