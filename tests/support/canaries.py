"""Values that must stand nowhere, and where they could: as they are, in other notations, and hashed without a key."""

from __future__ import annotations

import hashlib
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from unicodedata import normalize
from urllib.parse import quote

import pyarrow.parquet as pq
from pypdf import PdfReader
from pypdf.generic import StreamObject

_HASHES = (hashlib.md5, hashlib.sha1, hashlib.sha256, hashlib.sha512)


def spellings(text: str) -> frozenset[str]:
    """The text as it is, as UTF-16, hex, base64 wherever in a value it begins, and with an address's escapes."""
    raw = text.encode()
    found = {text, quote(text, safe=""), raw.hex(), raw.hex().upper(), text.encode("utf-16-le").decode("latin-1")}
    for before in range(3):
        first, end = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
        found |= {encode(b"\0" * before + raw).decode()[first:end] for encode in (b64encode, urlsafe_b64encode)}
    return frozenset(found)


def number_spellings(number: Decimal) -> frozenset[str]:
    """A number of eight digits or more: its digits, with commas, in scientific notation, as cents."""
    digits = f"{number:f}"
    return frozenset({digits, f"{number:,f}", digits.replace(".", ""), f"{digits[0]}.{digits[1:7]}"})


def hashes(text: str) -> frozenset[str]:
    """Hashes of a whole value that anybody could make."""
    return frozenset(found for kind in _HASHES for found in (kind(text.encode()).hexdigest(), _base64(kind, text)))


def held_in(artefacts: Mapping[str, str], needles: Iterable[str]) -> list[tuple[str, str]]:
    """Every artefact that holds a needle, with the needle."""
    wanted = sorted(set(needles))
    return [(name, one) for name, text in artefacts.items() for one in wanted if one in text]


def artefacts_below(folder: Path, without: str = "") -> Iterator[tuple[str, str]]:
    """All bytes of every file, one character a byte; of Parquet the values and the metadata beside them, of PDF the text."""
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        name = str(path.relative_to(folder.parent))
        if without and without in name:
            continue
        yield name, path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            yield f"{name} values", f"{table.to_pylist()} {table.schema.metadata}"
        if path.suffix == ".pdf":
            yield f"{name} text", _pdf_text(path)


def _pdf_text(path: Path) -> str:
    """What stands on the pages, as it is and without the blanks at which its lines are broken, and all of the streams."""
    reader = PdfReader(path)
    text = normalize("NFKC", "\n".join(page.extract_text() for page in reader.pages))
    streams = [
        found.get_data().decode("latin-1")
        for number in range(1, int(str(reader.trailer["/Size"])))
        if isinstance(found := reader.get_object(number), StreamObject)
    ]
    return "\n".join([text, "".join(text.split()), str(reader.metadata), *streams])


def _base64(kind: object, text: str) -> str:
    return b64encode(kind(text.encode()).digest()).decode()  # type: ignore[operator]
