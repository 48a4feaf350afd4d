from __future__ import annotations

from itertools import product

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.tables.odd_keys import NULL_PLACES, KeyMixing, is_odd, spell_words
from hudi_reconcile.sql.record_keys import render_misplaced, render_odd, render_worded, render_words

NAMES = ("a", "b", "c")
PARTS = (None, "", "1", "__null__", "__empty__", "1,b:1", "x,c:", "'\\")


@pytest.mark.parametrize("width", [1, 2, 3])
def test_sql_calls_the_same_keys_odd_and_spells_them_as_the_decision_does(spark: SparkSession, width: int) -> None:
    names, keys = NAMES[:width], list(product(PARTS, repeat=width))
    rows = spark.createDataFrame(keys, ", ".join(f"{name} string" for name in names))
    odd = [render_odd(names, [(name, "string") for name in names], mixing) for mixing in KeyMixing]

    found = rows.selectExpr(f"array({', '.join(names)})", render_words(names), render_worded(names), *odd).collect()

    for key, words, is_worded, *are_odd in found:
        assert are_odd == [is_odd(names, key, mixing) for mixing in KeyMixing], key
        assert tuple(words) == spell_words(key)
        assert is_worded == any(not part for part in key)
    assert len(found) == len(keys)


def test_part_of_another_type_is_never_odd_but_may_be_blank(spark: SparkSession) -> None:
    rows = spark.sql("select * from values (1, 'x'), (null, 'x'), (null, ''), (1, '') as t(a, b)")
    odd = render_odd(NAMES[:2], [("a", "int"), ("b", "string")], KeyMixing.SHARED)

    assert [row[0] for row in rows.selectExpr(odd).collect()] == [False, False, True, False]


def test_place_is_odd_where_any_of_its_texts_is_one_that_readers_see_as_null(spark: SparkSession) -> None:
    texts = (None, "x", " ", *NULL_PLACES)
    rows = spark.createDataFrame(list(product(texts, repeat=2)), "a string, b string")

    found = rows.selectExpr("a", "b", render_misplaced(("a", "b")), render_misplaced(())).collect()

    assert [(either, no_text) for a, b, either, no_text in found] == [
        (a in NULL_PLACES or b in NULL_PLACES, False) for a, b, *_ in found
    ]
