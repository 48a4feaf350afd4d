"""The canonical text of values: one text per value and kind, whoever writes it. Decides the table and is its reference.

A database digests its own rows and Spark digests the lake's to the same numbers only if both write this text byte for byte.
`python -m hudi_reconcile.core.tables.canonical_text` prints the table as docs/canonical-text.md. Knows no engine.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any, Final

from hudi_reconcile.core.tables.kinds import Kind

NULL_FIELD: Final = "~"
DIGEST_HEX_DIGITS: Final = 15  # 60 bits: they fit a signed 64-bit integer on every engine
HALF_BITS: Final = 30  # the sum of 30-bit halves holds to 8.5e9 rows; a sum of 60-bit values wraps after eight
BUCKET_HEX_DIGITS: Final = 8

_EPOCH_DAY = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NUMBER = re.compile(r"([+-]?)([0-9]*)\.?([0-9]*)")
_SIGN_BIT = 1 << 63
_EXACT = Context(prec=200)  # the default would round beyond 28 digits

Encode = Callable[[Any, int], str]


@dataclass(frozen=True, slots=True)
class Golden:
    """A value of a kind and its text, fixed for good; `scale` is the agreed scale of a DECIMAL."""

    value: object
    text: str
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Form:
    """The text of one kind: in words, by the reference, by example."""

    says: str
    encode: Encode
    golden: tuple[Golden, ...]


@dataclass(frozen=True, slots=True)
class SegmentSum:
    """One side's digest of a segment: its rows, and the sums of the upper and lower halves of their digests."""

    segment: int
    rows: int
    high: int
    low: int


def render_canonical_text(kind: Kind, value: object, scale: int = 0) -> str | None:
    """The canonical text of a value; None for NULL. `scale` is the agreed scale of a DECIMAL.

    Raises ValueError for a kind without canonical text: its values are never compared.
    """
    if kind not in FORMS:
        raise ValueError(f"kind {kind} has no canonical text (legal: {', '.join(FORMS)})")
    return None if value is None else FORMS[kind].encode(value, scale)


def row_text(texts: Iterable[str | None]) -> str:
    """The fields of a row in one text. Self-delimiting, so that two different rows never share one."""
    return "".join(NULL_FIELD if text is None else f"{len(text.encode())}:{text}" for text in texts)


def row_digest(texts: Iterable[str | None]) -> int:
    """60 bits of the row text's md5."""
    return _md5_number(row_text(texts), DIGEST_HEX_DIGITS)


def choose_bucket(key_texts: Iterable[str | None], count: int) -> int:
    """The hash segment of a key, 0 to count-1."""
    return _md5_number(row_text(key_texts), BUCKET_HEX_DIGITS) % count


def sum_digests(rows: Iterable[tuple[int, int]]) -> tuple[SegmentSum, ...]:
    """Digests of (segment, row digest) pairs, ordered by segment."""
    sums: dict[int, SegmentSum] = {}
    for segment, digest in rows:
        was = sums.get(segment, SegmentSum(segment, 0, 0, 0))
        low = digest & ((1 << HALF_BITS) - 1)
        sums[segment] = SegmentSum(segment, was.rows + 1, was.high + (digest >> HALF_BITS), was.low + low)
    return tuple(sums[segment] for segment in sorted(sums))


def _md5_number(text: str, hex_digits: int) -> int:
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:hex_digits], 16)


def _write_plain(value: Any, _scale: int) -> str:
    return str(value)


def _write_fixed(value: Decimal, scale: int) -> str:
    shifted = value.scaleb(scale, _EXACT)
    if shifted != shifted.to_integral_value():
        raise ValueError(f"the value has more than {scale} digits after the point")
    digits = str(abs(int(shifted))).rjust(scale + 1, "0")
    sign = "-" if shifted < 0 else ""
    return sign + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)


def _plain(value: str, _scale: int) -> str:
    text = value.strip(" ")
    match = _NUMBER.fullmatch(text)
    if match is None or not match[2] + match[3]:
        return text
    whole, fraction = match[2].lstrip("0"), match[3].rstrip("0")
    sign = "-" if match[1] == "-" and whole + fraction else ""
    return sign + (whole or "0") + (f".{fraction}" if fraction else "")


def _micros(value: datetime, _scale: int) -> str:
    utc = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    return str((utc - _EPOCH) // _MICROSECOND)


def _float_bits(value: float, _scale: int) -> str:
    if value != value:  # noqa: PLR0124 - the definition of NaN
        return "NaN"
    (bits,) = struct.unpack(">Q", struct.pack(">d", value + 0.0))  # -0.0 + 0.0 is 0.0
    return f"-{bits - _SIGN_BIT}" if bits >= _SIGN_BIT else str(bits)


_FLOAT_GOLDEN = (
    Golden(0.0, "0"), Golden(-0.0, "0"), Golden(1.0, "4607182418800017408"), Golden(-1.5, "-4609434218613702656"),
    Golden(float("nan"), "NaN"), Golden(float("inf"), "9218868437227405312"),
    Golden(float("-inf"), "-9218868437227405312"), Golden(2.0**-149, "3936146074321813504"),
)  # fmt: skip
_UUID = "0A0B0C0D-0000-4000-8000-0123456789ab"

FORMS: Final[dict[Kind, Form]] = {
    Kind.INTEGER: Form(
        "decimal digits, `-` before a negative number",
        _write_plain,
        (Golden(0, "0"), Golden(-7, "-7"), Golden(-(2**63), "-9223372036854775808"), Golden(2**63 - 1, str(2**63 - 1))),
    ),
    Kind.DECIMAL: Form(
        "fixed notation with exactly as many digits after the point as the greater scale of the two sides; no exponent",
        _write_fixed,
        (
            Golden(Decimal("1.1"), "1.10", 2), Golden(Decimal("-0.05"), "-0.05", 2), Golden(Decimal("-0.00"), "0.00", 2),
            Golden(Decimal(7), "7"), Golden(Decimal("1E-18"), "0.000000000000000001", 18),
            Golden(Decimal("0E-18"), "0.000000000000000000", 18),
        ),
    ),
    Kind.NUMBER: Form(
        "a plain decimal by value: no plus, no zeros before the whole part or at the end of the fraction, no minus before"
        " zero, no blanks around it; what is no plain decimal (`NaN`, `Infinity`) as it is",
        _plain,
        (
            Golden("1.10", "1.1"), Golden("+007", "7"), Golden("-0.000", "0"), Golden(".5", "0.5"), Golden("NaN", "NaN"),
            Golden("-Infinity", "-Infinity"), Golden("100", "100"), Golden("-12345678901234567890123456789012345678901",
                                                                           "-12345678901234567890123456789012345678901"),
        ),
    ),
    Kind.BOOLEAN: Form(
        "`1` or `0`", lambda value, _: str(int(value)), (Golden(value=True, text="1"), Golden(value=False, text="0"))
    ),
    Kind.TEXT: Form(
        "as it is: trailing blanks, letter case and Unicode form are data",
        _write_plain,
        (Golden("", ""), Golden("a ", "a "), Golden("~", "~"), Golden("1:é", "1:é")),
    ),
    Kind.CHAR: Form(
        "without its blanks at the end", lambda value, _: str(value).rstrip(" "), (Golden("ab   ", "ab"), Golden("   ", ""))
    ),
    Kind.DATE: Form(
        "days since 1970-01-01; `infinity` and `-infinity` where a source has them",
        lambda value, _: str((value - _EPOCH_DAY).days),
        (Golden(_EPOCH_DAY, "0"), Golden(date(1, 1, 1), "-719162"), Golden(date(9999, 12, 31), "2932896")),
    ),
    Kind.TIMESTAMP: Form(
        "microseconds since 1970-01-01 00:00 on the same wall clock; `infinity` and `-infinity` where a source has them",
        _micros,
        (
            Golden(datetime(1970, 1, 1), "0"),  # noqa: DTZ001 - the kind has no zone
            Golden(datetime(1969, 12, 31, 23, 59, 59, 999_999), "-1"),  # noqa: DTZ001
            Golden(datetime(9999, 12, 31, 23, 59, 59, 999_999), "253402300799999999"),  # noqa: DTZ001
        ),
    ),
    Kind.TIMESTAMPTZ: Form(
        "microseconds since 1970-01-01 00:00 UTC; `infinity` and `-infinity` where a source has them",
        _micros,
        (Golden(_EPOCH, "0"), Golden(datetime(1500, 3, 1, 1, 2, 3, 4, tzinfo=UTC), "-14826668276999996")),
    ),
    Kind.UUID: Form("lower case", lambda value, _: str(value).lower(), (Golden(_UUID, _UUID.lower()),)),
    Kind.BYTES: Form(
        "lower-case hex digits, two a byte",
        lambda value, _: bytes(value).hex(),
        (Golden(b"", ""), Golden(b"\x00\xff", "00ff")),
    ),
    Kind.REAL: Form("as `double`: widening changes no value", _float_bits, _FLOAT_GOLDEN),
    Kind.DOUBLE: Form(
        "the IEEE 754 bits below the sign as a decimal number, `-` before a negative value; -0.0 as 0.0; `NaN` for every NaN."
        " For a finite value it is (e + 1022) * 2^52 + m with e the greatest exponent from -1022 with 2^e <= abs(x) (-1022"
        " where there is none) and the integer m = abs(x) * 2^(52 - e), which an engine without a"
        " function for bits computes exactly",
        _float_bits,
        (
            *_FLOAT_GOLDEN, Golden(0.1, "4591870180066957722"), Golden(5e-324, "1"),
            Golden(2.2250738585072014e-308, "4503599627370496"), Golden(-1.7976931348623157e308, "-9218868437227405311"),
        ),
    ),
    Kind.OWN_TEXT: Form(
        "the source's own text, as it was pulled",
        _write_plain,
        (Golden('{"a": 1}', '{"a": 1}'), Golden("01:02:03.000004", "01:02:03.000004")),
    ),
}  # fmt: skip


def document() -> str:
    """The table as docs/canonical-text.md."""
    lines = [_HEAD]
    for kind, form in FORMS.items():
        shown = ", ".join(_show_golden(golden) for golden in form.golden[:6] if len(golden.text) <= _MOST_SHOWN)
        lines.append(f"| `{kind}` | {form.says} | {shown} |")
    samples: Sequence[tuple[str | None, ...]] = (("7", None, "a:b"), ("7", "", "~"), (None, None))
    lines.append(_ROW)
    for sample in samples:
        shown = ", ".join("NULL" if text is None else f"`{text}`" if text else "empty" for text in sample)
        lines.append(f"| {shown} | `{row_text(sample)}` | {row_digest(sample)} | {choose_bucket(sample, 512)} |")
    return "\n".join(lines) + "\n" + _WRITERS


def _show_golden(golden: Golden) -> str:
    value = golden.value.hex() if isinstance(golden.value, bytes) else str(golden.value)
    return f"`{value}` → `{golden.text}`" if golden.text and value else "empty → empty"


_MOST_SHOWN = 40
_HEAD = """\
# Canonical text

<!-- Made by: python -m hudi_reconcile.core.tables.canonical_text > docs/canonical-text.md -->

Two engines digest rows to the same numbers only if both write every value as the same bytes. This table is the definition;
`hudi_reconcile/core/tables/canonical_text.py` is its reference, and the tests hold each database and Spark
against it byte for byte.

| kind | text | examples |
|---|---|---|"""
_ROW = """
A row is its fields in the source's order: `~` for NULL, else the text's length in UTF-8 bytes, a colon, the text. Every
field says where it ends, so two different rows never have the same row text, whatever stands in them.

The digest of a row is the number in the first 15 hex digits of the md5 of the row text in UTF-8: 60 bits. The digest of a
segment is its count of rows and the sums of the upper 30 and the lower 30 bits. The hash segment of a key is the number in
the first 8 hex digits of the md5 of the key columns' row text, modulo the number of segments. md5 guards against accidents,
not against somebody who looks for two rows with one digest.

| fields | row text | digest | segment of 512 |
|---|---|---|---|"""
_WRITERS = """
## Who writes it

With `sweep.mode: pushdown` the source digests its own rows and Spark the lake's; each engine's way to this text is one of
`hudi_reconcile/databases/*/digests.py`. On MySQL and MariaDB text of people becomes UTF-8 bytes before anything looks at
it, so that no
character set and no collation takes part, and the numbers of a row, not its texts, stand in the server's temporary table: 16
bytes a row. A day that is none (`2024-02-31`) has no text there; its row is left uncounted and so shows as a difference.

`make conformance` holds the engines that run in the tests against this table, each kind's edges in a cell of their own: equal
after a pull with no row compared one by one, and every change of one step found, streamed and pushed down, Spark's ANSI mode on
and off.
"""

if __name__ == "__main__":
    print(document(), end="")  # noqa: T201 - the table is what this prints
