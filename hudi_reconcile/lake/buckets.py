"""The bucket index of a table that another tool made: how many buckets its writer has, which Hudi records nowhere."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import permutations
from math import gcd

from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.tables.values import LakeTable
from hudi_reconcile.lake.foreign import Sample

BUCKETS = "hoodie.bucket.index.num.buckets"
_HASHED = "hoodie.bucket.index.hash.field"
# A bucket's number leads its file's name. Of other files, whose names are UUIDs, one in some 40,000 begins so, too.
_BUCKET = re.compile(r"^(000\d{5})-")
_MOST_BUCKETS = 100_000
_HASH_RANGE = 2**31 - 1


def choose_bucket_options(
    spark: SparkSession, table: LakeTable, overrides: Mapping[str, str], sample: Sample
) -> dict[str, str]:
    """Options of a table whose files are buckets; empty for any other.

    Raises RefusedError where `lake.options` does not say how many they are, or says another number.
    """
    placed = [(key, match) for key, _, file in sample.carried if (match := _BUCKET.match(file))]
    if not placed or len(placed) < len(sample.carried):
        return {}
    identify = spark._jvm.org.apache.hudi.index.bucket.BucketIdentifier.getBucketId  # type: ignore[union-attr]  # noqa: SLF001

    def find_fitting(fields: str) -> tuple[int, ...]:
        return find_counts([(int(identify(key, fields, _HASH_RANGE)), int(match[1])) for key, match in placed])

    named, fields = overrides.get(BUCKETS, ""), overrides.get(_HASHED, ",".join(table.record_key))
    fitting = find_fitting(fields)
    if named.isdecimal() and int(named) in fitting:
        return {"hoodie.index.type": "BUCKET", "hoodie.index.bucket.engine": "SIMPLE", BUCKETS: named, _HASHED: fields}
    files = {match[1] for _, match in placed}
    if not named and len(files) == 1 and not any(map(find_fitting, _choices(table.record_key))):
        return {}
    said = f"lake.options says {named}, which its files contradict" if named else "no property of it says how many"
    likely = fitting[0] if len(fitting) == 1 else "N"
    raise RefusedError(
        f"Hudi table {table.path}: its files are buckets; {said}",
        fix=f'lake: {{options: {{{BUCKETS}: "{likely}"}}}}, as its other writer has it',
    )


def find_counts(placed: Collection[tuple[int, int]]) -> tuple[int, ...]:
    """The numbers of buckets, up to 100,000, with which a writer puts each key's hash into its bucket; ascending.

    >>> find_counts([(7, 1), (16, 4)])
    (6,)
    """
    common = gcd(*(code - bucket for code, bucket in placed))
    least = max((bucket for _, bucket in placed), default=0) + 1
    return tuple(count for count in range(least, _MOST_BUCKETS + 1) if common % count == 0)


def _choices(record_key: Sequence[str]) -> Iterator[str]:
    """The columns that a writer may hash: any of the record key's, in any order."""
    for size in range(1, len(record_key) + 1):
        for columns in permutations(record_key, size):
            yield ",".join(columns)
