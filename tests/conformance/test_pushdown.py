"""The databases that digest their own rows write every value as the reference does, byte for byte. Needs no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.core.sweep.segments import HashSegments, RangeSegments, Segmentation, SegmentSet
from hudi_reconcile.core.tables import canonical_text
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.databases.base import Engine, TableRequest
from hudi_reconcile.databases.urls import build_connection, open_engine
from hudi_reconcile.source import pushdown
from hudi_reconcile.sql.digests import Digested, bucket_predicate, digest_query, parse_sums
from tests.conformance.case import Case, case_of, unfriendly
from tests.conformance.fields import PRODUCTS
from tests.conformance.product import Product

PUSHED = tuple(product for product in PRODUCTS if "pushdown" in product.modes)


@pytest.fixture(params=PUSHED, ids=lambda product: product.name)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    found = case_of(request.param, request, tmp_path)
    found.fill()
    return found


@contextmanager
def engine_of(case: Case) -> Iterator[Engine]:
    source = case.project.source
    engine = open_engine(build_connection(source["url"], (case.project.folder / "password").read_text()))
    try:
        yield engine
    finally:
        engine.close()


def cells_of(engine: Engine) -> str:
    """The table of cells in SQL, with its schema: sessions look for no name on a path."""
    return engine.describe(TableRequest("cells", "cells")).table.name


def items_of(case: Case, engine: Engine) -> tuple[ComparedColumn, ...]:
    """The columns that the reference has values for."""
    left_out = {field.name for field in case.product.fields if field.is_sql}
    columns = engine.describe(TableRequest("cells", "cells")).table.columns
    digits = {c.name: (c.precision or 0, c.scale or 0) for c in columns if c.kind is Kind.DECIMAL}
    return tuple(
        ComparedColumn(index, column, "", digits.get(column.name))
        for index, column in enumerate(columns)
        if column.name not in left_out
    )


def expected_texts(product: Product, items: tuple[ComparedColumn, ...]) -> list[list[str | None]]:
    """By the reference."""
    found = []
    for number, (before, _) in enumerate(product.rows()):
        row = {"id": number} | before
        found.append([text_of(item, row.get(item.column.name)) for item in items])
    return found


def text_of(item: ComparedColumn, value: Any) -> str | None:
    kind = item.column.kind
    if value is None:
        return None
    if kind is Kind.NUMBER:
        value = format(value, "f") if not isinstance(value, str) else value
    if kind is Kind.DECIMAL and isinstance(value, int):
        return str(value)
    return canonical_text.render_canonical_text(kind, value, item.digits[1] if item.digits else 0)


def test_every_value_is_written_as_the_reference_does(case: Case) -> None:
    check_texts(case)


def check_texts(case: Case) -> None:
    with unfriendly(case.database), engine_of(case) as engine:
        items = items_of(case, engine)
        assert {i.column.name: i.column.kind for i in items[1:]} == {
            field.name: field.kind for field in case.product.columns if not field.is_sql
        }
        assert engine.digests is not None
        texts = ", ".join(f"{engine.digests.canonical(item)} as t{place}" for place, item in enumerate(items))
        rows = engine.rows(f"select {texts} from {cells_of(engine)} order by id")
    expected = expected_texts(case.product, items)
    assert len(rows) == len(expected)
    wrong = [
        (item.column.name, right[place], row[f"t{place}"])
        for row, right in zip(rows, expected, strict=True)
        for place, item in enumerate(items)
        if plain(row[f"t{place}"]) != right[place]
    ]
    assert wrong == []


def plain(text: Any) -> str | None:
    return text.decode() if isinstance(text, bytes) else text


EDGES = (-(2**63), -(2**63) + 1, -75, -38, -37, -36, -1, 0, 1, 36, 37, 2**60 - 1, 2**63 - 2, 2**63 - 1)


def test_numbers_are_divided_down_on_both_sides_of_zero(case: Case) -> None:
    check_floor(case)


def check_floor(case: Case) -> None:
    with engine_of(case) as engine:
        assert engine.digests is not None
        values = " union all ".join(f"select {edge} as n" for edge in EDGES)
        rows = engine.rows(f"select n, {engine.digests.divide_down('n', 37)} as down from ({values}) hr_n")
    assert {int(row["n"]): int(row["down"]) for row in rows} == {edge: edge // 37 for edge in EDGES}


RANGES, BUCKETS = RangeSegments("id", 0, 7, 40), HashSegments(("id",), 13, "md5")
SOME = SegmentSet.of([1, 2, 5, 11, 39])


@pytest.mark.parametrize("cut", [RANGES, BUCKETS], ids=["ranges", "buckets"])
def test_rows_are_digested_to_the_numbers_of_the_reference(case: Case, cut: Segmentation) -> None:
    check_digests(case, cut)


def check_digests(case: Case, cut: Segmentation = RANGES) -> None:
    with unfriendly(case.database), engine_of(case) as engine:
        items = items_of(case, engine)
        what = Digested(items, items[:1], cut)
        assert engine.digests is not None
        table = engine.describe(TableRequest("cells", "cells")).table
        found = parse_sums(engine.rows(digest_query(engine.digests, table.name, what)), None)
        some = parse_sums(engine.rows(digest_query(engine.digests, table.name, what, segments=SOME)), SOME)
        probe = pushdown.probe(engine, table, Agreement(items, items[:1], (), ()), ())
        buckets = bucket_predicate(engine.digests, items[:1], BUCKETS.count, SOME)
        ids = [row["id"] for row in engine.rows(f"select id from {cells_of(engine)} where {buckets} order by id")]
    texts = expected_texts(case.product, items)
    segments = [
        cut.find_segment(n) if isinstance(cut, RangeSegments) else canonical_text.choose_bucket([str(n)], cut.count)
        for n in range(len(texts))
    ]
    right = canonical_text.sum_digests((s, canonical_text.row_digest(t)) for s, t in zip(segments, texts, strict=True))
    assert found == right
    assert some == tuple(one for one in right if one.segment in SOME.ids)
    assert ids == [n for n in range(len(texts)) if canonical_text.choose_bucket([str(n)], BUCKETS.count) in SOME.ids]
    mean = sum(len(canonical_text.row_text(t).encode()) for t in texts) / len(texts)
    assert probe.row_bytes == pytest.approx(mean, rel=0.2 if case.product.latin != "utf-8" else 1e-6)  # an estimate
