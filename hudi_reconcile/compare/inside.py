"""The lake's half of a comparison by pushdown: rows digested by canonical text, to the numbers that the source computes."""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.canonical import canonical
from hudi_reconcile.compare.canonical_text import collected, form_text, row_text, text_bucket, text_digest
from hudi_reconcile.compare.sides import Shape, range_segment, values_of
from hudi_reconcile.core.agreement import Compared
from hudi_reconcile.core.canon import SegmentSum
from hudi_reconcile.core.segments import RangeSegments


def text_digests(lake: DataFrame, shape: Shape) -> tuple[SegmentSum, ...]:
    """One job over the whole frame. Each text is used twice, so it is a column of an inner select that stays one."""
    columns, key = shape.agreement.columns, shape.agreement.key
    texts = _texts(columns, "t")
    keys = [] if isinstance(shape.segmentation, RangeSegments) else _texts(key, "s")
    forms = [
        canonical(item, value).alias(n)
        for n, item, value in zip(shape.key_names, key, values_of("lake", key), strict=True)
    ]
    inner = lake.select(*texts, *keys, *forms)
    rows = inner.select(
        _segment(shape).alias("segment"),
        text_digest(row_text([F.col(f"t{i}") for i in range(len(columns))])).alias("digest"),
    )
    return collected(rows)


def _texts(items: tuple[Compared, ...], prefix: str) -> list[SparkColumn]:
    values = values_of("lake", items)
    return [
        form_text(item, canonical(item, value)).alias(f"{prefix}{i}")
        for i, (item, value) in enumerate(zip(items, values, strict=True))
    ]


def _segment(shape: Shape) -> SparkColumn:
    cut = shape.segmentation
    if isinstance(cut, RangeSegments):
        return range_segment(cut)
    return text_bucket(row_text([F.col(f"s{i}") for i in range(len(shape.agreement.key))]), cut.count)
