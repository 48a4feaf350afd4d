from __future__ import annotations

from pathlib import Path

import pytest

from hudi_reconcile.core.tables import canonical_text
from hudi_reconcile.core.tables.kinds import Kind

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "canonical-text.md"
GOLDEN = [(kind, golden) for kind, form in canonical_text.FORMS.items() for golden in form.golden]


@pytest.mark.parametrize(("kind", "golden"), GOLDEN, ids=[f"{kind} {golden.value!r}" for kind, golden in GOLDEN])
def test_value_of_a_kind_has_its_text(kind: Kind, golden: canonical_text.Golden) -> None:
    assert canonical_text.render_canonical_text(kind, golden.value, golden.scale) == golden.text


def test_every_kind_that_is_compared_has_a_text_and_no_other() -> None:
    assert set(canonical_text.FORMS) == set(Kind) - {Kind.OTHER}
    with pytest.raises(ValueError, match="no canonical text"):
        canonical_text.render_canonical_text(Kind.OTHER, "x")


def test_null_has_no_text_and_its_own_mark() -> None:
    assert canonical_text.render_canonical_text(Kind.TEXT, None) is None
    assert canonical_text.row_text([None, "~", "", "é"]) == "~1:~0:2:é"


def test_numbers_of_a_row_are_those_of_its_md5() -> None:
    # printf '1:7~' | md5sum
    assert canonical_text.row_digest(["7", None]) >> 28 == int("5f452fb8", 16)
    assert canonical_text.choose_bucket(["7", None], 1 << 32) == int("5f452fb8", 16)
    assert canonical_text.choose_bucket(["7", None], 10) == int("5f452fb8", 16) % 10


def test_digests_are_summed_in_halves_by_segment() -> None:
    digest = (5 << 30) + 7

    assert canonical_text.sum_digests([(2, digest), (0, 1), (2, digest)]) == (
        canonical_text.SegmentSum(0, 1, 0, 1),
        canonical_text.SegmentSum(2, 2, 10, 14),
    )


def test_decimal_with_more_digits_than_agreed_is_refused_not_rounded() -> None:
    with pytest.raises(ValueError, match="more than 1 digits"):
        canonical_text.FORMS[Kind.DECIMAL].encode(canonical_text.FORMS[Kind.DECIMAL].golden[1].value, 1)


def test_document_is_that_of_the_table() -> None:
    assert DOCUMENT.read_text("utf-8") == canonical_text.document(), (
        "run: python -m hudi_reconcile.core.tables.canonical_text > docs/canonical-text.md"
    )
