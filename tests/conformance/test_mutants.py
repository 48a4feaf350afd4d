"""Planted faults: the encoders and digests are broken one by one, and each time a check goes red. Sound code passes all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.compare import canonical_text, columns, equality
from hudi_reconcile.core.tables import canonical_text as canon
from hudi_reconcile.core.tables.agreement import ComparedColumn
from hudi_reconcile.core.tables.kinds import Kind
from tests.conformance.checks import CHECKS, World
from tests.conformance.tally import MUTANTS


@dataclass(frozen=True, slots=True)
class Mutant:
    """What is broken, where, by what, and the check that is to see it."""

    says: str
    place: object
    name: str
    broken: Any
    check: str


def _by_kind(kind: Kind, broken: Callable[[Any], Any]) -> Callable[[ComparedColumn, Any], Any]:
    real = equality.write_canonical

    def form(item: ComparedColumn, value: Any) -> Any:
        return broken(value) if item.column.kind is kind else real(item, value)

    return form


def _text_of_form(kind: Kind, broken: Callable[[Any], Any]) -> Callable[[ComparedColumn, Any], Any]:
    real = columns.write_plain_text
    return lambda item, form: broken(form) if item.column.kind is kind else real(item, form)


def _bare(texts: Iterable[Any]) -> str:
    return "|".join(canon.NULL_FIELD if text is None else text for text in texts)


def _word(texts: Iterable[Any]) -> str:
    known = [canon.NULL_FIELD if text is None else text for text in texts]
    return "".join(f"{len(text.encode())}:{text}" for text in known)


def _spark_bare(texts: list[Any]) -> Any:
    known = [f"coalesce({text}, '{canon.NULL_FIELD}')" for text in texts]
    return f"concat_ws('|', {', '.join(known)})"


def _spark_word(texts: list[Any]) -> Any:
    known = [f"coalesce({text}, '{canon.NULL_FIELD}')" for text in texts]
    fields = [f"octet_length({text}), ':', {text}" for text in known]
    return f"concat({', '.join(fields)})"


def _spark_characters(texts: list[Any]) -> Any:
    fields = [f"coalesce(concat(length({t}), ':', {t}), '{canon.NULL_FIELD}')" for t in texts]
    return f"concat({', '.join(fields)})"


def _unmarked(items: tuple[ComparedColumn, ...], names: list[str]) -> Any:
    forms = [equality.write_hashable(item, name) for item, name in zip(items, names, strict=True)]
    return f"xxhash64({', '.join(forms)})"


def _summed(combine: Callable[[list[int]], int], low_mask: int) -> Callable[..., tuple[canon.SegmentSum, ...]]:
    def summed(rows: Iterable[tuple[int, int]]) -> tuple[canon.SegmentSum, ...]:
        by: dict[int, list[int]] = {}
        for segment, digest in rows:
            by.setdefault(segment, []).append(digest)
        return tuple(
            canon.SegmentSum(s, len(d), combine([n >> 30 for n in d]), combine([n & low_mask for n in d]))
            for s, d in sorted(by.items())
        )

    return summed


def _xor(numbers: list[int]) -> int:
    found = 0
    for number in numbers:
        found ^= number
    return found


def _spark_summed(high: Callable[[Any], Any], low: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def collected(rows: Any) -> tuple[canon.SegmentSum, ...]:
        digest = F.col("digest")
        sums = rows.groupBy("segment").agg(F.count(digest).alias("n"), high(digest).alias("h"), low(digest).alias("l"))
        return tuple(canon.SegmentSum(r["segment"], r["n"], r["h"], r["l"]) for r in sums.collect())

    return collected


def _upper(digest: Any) -> Any:
    return F.shiftright(digest, canon.HALF_BITS)


def _lower(digest: Any) -> Any:
    return digest.bitwiseAND(F.lit((1 << canon.HALF_BITS) - 1).cast("bigint"))


def _truncated(cut: Any, key: str) -> Any:
    first, last = cut.bounds(0)[1], cut.bounds(cut.count - 1)[0]
    inner = f"({key} div {cut.width}) - ({cut.start // cut.width})"
    return f"cast(case when {key} < {first} then 0 when {key} >= {last} then {cut.count - 1} else {inner} end as int)"


def _own_zone(_item: ComparedColumn, micros: Any) -> Any:
    return f"unix_micros(from_utc_timestamp(timestamp_micros({micros}), 'Europe/Berlin'))"


_DOUBLE = canon.FORMS[Kind.DOUBLE]
_SIGNED_ZERO = replace(_DOUBLE, encode=lambda value, scale: "-" * (str(value) == "-0.0") + _DOUBLE.encode(value, scale))
MUTANTS_PLANTED = (
    Mutant("reference: no length before a field", canon, "row_text", _bare, "reference_rows_apart"),
    Mutant("reference: NULL is a word", canon, "row_text", _word, "reference_rows_apart"),
    Mutant("reference: XOR for sum", canon, "sum_digests", _summed(_xor, (1 << 30) - 1), "reference_sums_apart"),
    Mutant("reference: no lower half", canon, "sum_digests", _summed(sum, 0), "reference_sums_apart"),
    Mutant("reference: -0.0 apart from 0.0", canon, "FORMS", canon.FORMS | {Kind.DOUBLE: _SIGNED_ZERO}, "golden_vectors"),
    Mutant("text digest: no length before a field", canonical_text, "write_row_text", _spark_bare, "spark_rows_apart"),
    Mutant("text digest: NULL is a word", canonical_text, "write_row_text", _spark_word, "spark_rows_apart"),
    Mutant("text digest: length in characters", canonical_text, "write_row_text", _spark_characters, "spark_sums"),
    Mutant("text digest: XOR for sum", canonical_text, "collect_digests",
           _spark_summed(lambda d: F.bit_xor(_upper(d)), lambda d: F.bit_xor(_lower(d))), "spark_sums"),
    Mutant("text digest: no lower half", canonical_text, "collect_digests",
           _spark_summed(lambda d: F.sum(_upper(d)), lambda d: F.sum(d * 0)), "spark_sums"),
    Mutant("text digest: whole digests summed, which wrap", canonical_text, "collect_digests",
           _spark_summed(lambda d: F.shiftright(F.sum(d), 30), lambda d: _lower(F.sum(d))), "spark_sums"),
    Mutant("stream digest: NULLs unmarked", columns, "write_row_digest", _unmarked, "stream_rows_apart"),
    Mutant("stream digest: text lower-cased", equality, "write_canonical",
           _by_kind(Kind.TEXT, lambda v: f"lower({v})"), "stream_values"),
    Mutant("stream digest: blanks of text cut", equality, "write_canonical",
           _by_kind(Kind.TEXT, lambda v: f"rtrim({v})"), "stream_values"),
    Mutant("stream digest: padding of char kept", equality, "write_canonical", _by_kind(Kind.CHAR, lambda v: v), "stream_values"),
    Mutant("stream digest: bigint by double", equality, "write_canonical",
           _by_kind(Kind.INTEGER, lambda v: f"cast({v} as double)"), "stream_values"),
    Mutant("stream digest: decimal by double", equality, "write_canonical",
           _by_kind(Kind.DECIMAL, lambda v: f"cast({v} as double)"), "stream_values"),
    Mutant("stream digest: double by float", equality, "write_canonical",
           _by_kind(Kind.DOUBLE, lambda v: f"cast({v} as float)"), "stream_values"),
    Mutant("stream digest: microseconds cut", equality, "write_hashable",
           lambda item, v: f"date_trunc('millisecond', {v})"
           if item.column.kind is Kind.TIMESTAMP else equality.write_canonical(item, v),
           "stream_values"),
    Mutant("canonical text: -0.0 apart from 0.0", canonical_text, "_write_sign",
           lambda text: f"case when {text} is not null then concat(case when startswith(cast({text} as string), '-')"
                        f" then '-' else '' end, cast({text}_b as string)) end",
           "spark_texts"),
    Mutant("canonical text: double as Java writes it", canonical_text, "_write_sign",
           lambda text: f"cast({text} as string)", "spark_texts"),
    Mutant("canonical text: exponent of the logarithm unchecked", canonical_text, "_bits",
           lambda text: {f"{text}_b": f"cast({text}_m as bigint) + ({text}_e + 1022) * {1 << 52}L"},
           "spark_texts"),
    Mutant("canonical text: microseconds cut", equality, "_cut_micros",
           lambda _, micros: f"({micros} - pmod({micros}, 1000))", "spark_texts"),
    Mutant("canonical text: timestamps by the session's zone", equality, "_cut_micros", _own_zone, "spark_texts"),
    Mutant("canonical text: decimal with an exponent", columns, "_write_fixed", lambda text, _: text, "spark_texts"),
    Mutant("canonical text: padding of char kept", canonical_text, "write_canonical",
           _by_kind(Kind.CHAR, lambda v: v), "spark_texts"),
    Mutant("canonical text: upper-case uuid kept", canonical_text, "write_canonical",
           _by_kind(Kind.UUID, lambda v: v), "spark_texts"),
    Mutant("canonical text: bytes as upper-case hex", canonical_text, "write_plain_text",
           _text_of_form(Kind.BYTES, lambda v: f"hex({v})"), "spark_texts"),
    Mutant("segments: keys below zero cut toward zero", columns, "_range_segment", _truncated, "spark_segments"),
)  # fmt: skip
BY_NAME = {check.__name__: check for check in CHECKS}


@pytest.fixture(scope="module")
def world(spark: SparkSession) -> World:
    return World(spark)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_sound_code_passes_every_check(world: World, check: Callable[[World], None]) -> None:
    check(world)


@pytest.mark.parametrize("mutant", MUTANTS_PLANTED, ids=lambda mutant: mutant.says)
def test_planted_fault_turns_its_check_red(world: World, mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mutant.says not in MUTANTS
    MUTANTS[mutant.says] = ""
    monkeypatch.setattr(mutant.place, mutant.name, mutant.broken)

    with pytest.raises(AssertionError):
        BY_NAME[mutant.check](world)

    MUTANTS[mutant.says] = mutant.check
