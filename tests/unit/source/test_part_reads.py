from __future__ import annotations

from pyspark.sql import DataFrame

from hudi_reconcile.source.pull_reads import ReadWork, describe_progress


def never(number: int) -> DataFrame:
    raise AssertionError(number)


def test_bar_tells_parts_rows_of_how_many_and_the_rate() -> None:
    work = ReadWork("public.orders", 8, 2, read=never, expected_rows=400_000)

    assert (
        describe_progress(work, 3, 120_000, 4.0)
        == "public.orders: 3 of 8 parts, 120,000 of about 400,000 rows, 30,000 rows/s"
    )
    unknown = ReadWork("t", 1, 1, work.read)
    assert describe_progress(unknown, 1, 7, 0.0) == "t: 1 of 1 parts, 7 rows"
