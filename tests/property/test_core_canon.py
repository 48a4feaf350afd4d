"""Different rows have different row texts, equal values have equal texts, and texts say which value they stand for."""

from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Context, Decimal

from hypothesis import example, given
from hypothesis import strategies as st

from hudi_reconcile.core.tables import canonical_text
from hudi_reconcile.core.tables.kinds import Kind

people = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("~:0123456789 ")), max_size=12)
fields = st.one_of(st.none(), people)
rows = st.lists(fields, max_size=6)
unscaled = st.integers(-(10**38) + 1, 10**38 - 1)
EXACT = Context(prec=100)


def fields_of(text: str) -> list[str | None]:
    """A reader of row texts: what it can read back in one way only, no two rows share."""
    data, found, place = text.encode(), list[str | None](), 0
    while place < len(data):
        if data[place : place + 1] == b"~":
            found.append(None)
            place += 1
            continue
        colon = data.index(b":", place)
        end = colon + 1 + int(data[place:colon])
        found.append(data[colon + 1 : end].decode())
        place = end
    return found


@given(rows)
@example(["1:a", None, "~", "", "0:", "12"])
def test_row_text_reads_back_as_the_row(row: list[str | None]) -> None:
    assert fields_of(canonical_text.row_text(row)) == row


@given(rows, rows)
@example(["a", None], [None, "a"])
@example(["a|b", "c"], ["a", "b|c"])
@example([None], [""])
@example([None], ["~"])
def test_different_rows_have_different_texts_and_digests(one: list[str | None], other: list[str | None]) -> None:
    assert (canonical_text.row_text(one) == canonical_text.row_text(other)) == (one == other)
    assert (canonical_text.row_digest(one) == canonical_text.row_digest(other)) == (one == other)


@given(st.floats())
@example(5e-324)
@example(-0.0)
@example(2.2250738585072014e-308)
def test_text_of_a_float_reads_back_as_its_bits(value: float) -> None:
    text = canonical_text.render_canonical_text(Kind.DOUBLE, value)
    assert text is not None

    if math.isnan(value):
        assert text == "NaN"
    else:
        (back,) = struct.unpack(">d", struct.pack(">Q", abs(int(text))))
        assert math.copysign(back, -1 if text.startswith("-") else 1) == value
        assert text != "-0"


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(2.2250738585072014e-308)
def test_text_of_a_float_is_what_the_document_says_can_be_computed(value: float) -> None:
    least, bits = -1022, 52
    exponent = max(math.frexp(value)[1] - 1, least) if value else least
    mantissa = math.ldexp(math.ldexp(abs(value), 26 - exponent // 2), bits - 26 - (exponent - exponent // 2))

    found = (exponent - least) * 2**bits + int(mantissa)

    assert mantissa == int(mantissa)
    assert canonical_text.render_canonical_text(Kind.DOUBLE, abs(value)) == str(found)


@given(unscaled, st.integers(0, 38), st.integers(0, 3))
def test_decimals_of_equal_value_have_one_text_of_the_agreed_digits(number: int, scale: int, more: int) -> None:
    value = Decimal(number).scaleb(-scale, EXACT)
    longer = value.quantize(Decimal(1).scaleb(-scale - more, EXACT), context=EXACT)

    text = canonical_text.render_canonical_text(Kind.DECIMAL, value, scale + more)

    assert text == canonical_text.render_canonical_text(Kind.DECIMAL, longer, scale + more)
    assert text is not None
    assert Decimal(text) == value
    assert len(text.partition(".")[2]) == scale + more


@given(unscaled, st.integers(-5, 38), st.sampled_from(["", "+", "0", "00"]), st.sampled_from(["", "0", "000"]))
def test_numbers_of_equal_value_have_one_text(number: int, scale: int, before: str, after: str) -> None:
    value = Decimal(number).scaleb(-scale, EXACT)
    plain = format(value, "f")
    sign, digits = ("-", plain[1:]) if plain.startswith("-") else ("", plain)
    spelled = sign + ("" if sign and before == "+" else before) + (digits if "." in digits else digits + ".") + after

    text = canonical_text.render_canonical_text(Kind.NUMBER, spelled)

    assert text == canonical_text.render_canonical_text(Kind.NUMBER, plain)
    assert text is not None
    assert Decimal(text) == value
    assert canonical_text.render_canonical_text(Kind.NUMBER, text) == text


@given(st.datetimes(), st.integers(-14 * 60, 14 * 60))
def test_zoned_timestamp_has_the_text_of_its_instant(value: datetime, minutes: int) -> None:
    here = value.replace(tzinfo=timezone(timedelta(minutes=minutes)))

    text = canonical_text.render_canonical_text(Kind.TIMESTAMPTZ, here)

    assert text is not None
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(text)) == here
    assert canonical_text.render_canonical_text(Kind.TIMESTAMP, value) == canonical_text.render_canonical_text(
        Kind.TIMESTAMPTZ, value.replace(tzinfo=UTC)
    )


@given(st.dates())
def test_date_has_the_number_of_its_day(value: date) -> None:
    assert date(1970, 1, 1) + timedelta(days=int(canonical_text.render_canonical_text(Kind.DATE, value) or "")) == value


@given(people)
def test_blanks_at_the_end_are_data_in_text_and_padding_in_char(value: str) -> None:
    assert canonical_text.render_canonical_text(Kind.CHAR, value + "  ") == canonical_text.render_canonical_text(
        Kind.CHAR, value
    )
    assert canonical_text.render_canonical_text(Kind.TEXT, value + " ") != canonical_text.render_canonical_text(
        Kind.TEXT, value
    )


@given(st.lists(fields, min_size=1, max_size=3), st.integers(1, 16_384))
def test_key_has_one_of_the_segments(key: list[str | None], count: int) -> None:
    assert 0 <= canonical_text.choose_bucket(key, count) < count
