"""The search for canaries finds them wherever they are hidden; one that could not would prove nothing."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.canaries import artefacts_below, hashes, held_in, number_spellings, spellings

NOTATIONS: dict[str, Callable[[bytes], str]] = {
    "as it is": lambda raw: raw.decode("latin-1"),
    "hex": bytes.hex,
    "HEX": lambda raw: raw.hex().upper(),
    "base64": lambda raw: b64encode(raw).decode(),
    "base64 of addresses": lambda raw: urlsafe_b64encode(raw).decode(),
    "UTF-16": lambda raw: raw.decode("latin-1").encode("utf-16-le").decode("latin-1"),
}


@given(st.sampled_from(sorted(NOTATIONS)), st.binary(max_size=9), st.binary(max_size=9))
def test_canary_is_found_in_every_notation_wherever_it_stands_in_a_value(
    kind: str, before: bytes, after: bytes
) -> None:
    held = NOTATIONS[kind](before + b"note-canary" + after)

    assert held_in({"file": held}, spellings("note-canary"))
    assert not held_in({"file": NOTATIONS[kind](b"status" + b"\0" * 20)}, spellings("note-canary"))


@pytest.mark.parametrize("text", ["31415926.53", "sum 31,415,926.53", "3.141592653E7", "3141592653 cents"])
def test_number_is_found_however_it_is_written(text: str) -> None:
    assert held_in({"file": text}, number_spellings(Decimal("31415926.53")))


def test_value_inside_of_parquet_is_found_and_a_hash_without_a_key_too(tmp_path: Path) -> None:
    table = pa.table({"a": ["note-canary"] * 3})
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False, write_statistics=False)

    found = dict(artefacts_below(tmp_path))

    assert held_in(found, spellings("note-canary"))
    assert dict(artefacts_below(tmp_path, "a.par")) == {}
    assert len(hashes("note-canary")) == 8
