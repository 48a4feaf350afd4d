"""Planted faults in what the databases are asked, and in the sessions that ask: each turns a check red. Needs no Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.core.tables.agreement import ComparedColumn
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.databases.mysql import dialect
from hudi_reconcile.databases.mysql import digests as mysql
from hudi_reconcile.databases.postgres import digests as postgres
from hudi_reconcile.sql.dialect import Digests
from tests.conformance.case import Case, case_of
from tests.conformance.server_fields import MARIADB, POSTGRES, POSTGRES_LATIN1
from tests.conformance.tally import MUTANTS
from tests.conformance.test_pushdown import check_digests, check_floor, check_texts


@dataclass(frozen=True, slots=True)
class Mutant:
    """What is broken, on which engine, where and by what, and the check that is to see it."""

    says: str
    engine: str
    place: object
    name: str
    broken: Any
    check: Callable[[Case], None]


def _kind(
    database: Digests, kinds: set[Kind], broken: Callable[[str, ComparedColumn], str]
) -> Callable[[ComparedColumn], str]:
    real = database.canonical

    def text(item: ComparedColumn) -> str:
        name = database.DIALECT.quote(item.column.name)
        return broken(name, item) if item.column.kind in kinds else real(item)

    return text


def _thousands(number: str) -> str:
    return f"{number} div 1000 * 1000"


def _by_sign_bit(bits: str) -> str:
    return f"(case when {bits} < 0 then '-' else '' end || ({bits} & {2**63 - 1}))"


_FLOATS, _TIMES = {Kind.REAL, Kind.DOUBLE}, {Kind.TIMESTAMP, Kind.TIMESTAMPTZ}
_SESSION = dialect._SESSION
_EXTRACT = "(date_part('epoch', {c}) * 1000000)::int8::text"
PLANTED = (
    Mutant("session in the server's zone", "MariaDB", dialect, "_SESSION",
           _SESSION.replace("time_zone = '+00:00', ", ""), check_texts),
    Mutant("session with the server's limit of rows", "MariaDB", dialect, "_SESSION",
           _SESSION.replace("18446744073709551615", "default"), check_texts),
    Mutant("session in the server's sql_mode", "MariaDB", dialect, "_SESSION",
           _SESSION.replace("sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', ", ""), check_texts),
    Mutant("text in its own character set", "MariaDB", mysql, "canonical",
           _kind(mysql, {Kind.TEXT}, lambda name, _: f"cast({name} as binary)"), check_digests),
    Mutant("text by collation", "MariaDB", mysql, "canonical",
           _kind(mysql, {Kind.TEXT}, lambda name, _: f"hex(weight_string({name}))"), check_texts),
    Mutant("length in characters", "MariaDB", mysql, "octets",
           lambda text, _: f"cast(char_length(convert({text} using utf8mb4)) as char)", check_digests),
    Mutant("zeros of zerofill kept", "MariaDB", mysql, "canonical",
           _kind(mysql, {Kind.INTEGER}, lambda name, _: f"cast({name} as char)"), check_texts),
    Mutant("double as the server writes it", "MariaDB", mysql, "canonical",
           _kind(mysql, _FLOATS, lambda name, _: f"cast({name} as char)"), check_texts),
    Mutant("double by the logarithm alone", "MariaDB", mysql, "_low_exponent",
           lambda value: f"cast(greatest(-1022, least(1022, floor(log2(abs({value}))))) as signed)", check_texts),
    Mutant("microseconds cut", "MariaDB", mysql, "_count_since_1970",
           lambda name, _: _thousands(f"timestampdiff(microsecond, '1970-01-01', {name})"), check_texts),
    Mutant("keys below zero cut toward zero", "MariaDB", mysql, "divide_down",
           lambda number, divisor: f"({number} div {divisor})", check_floor),
    Mutant("digest by a double", "MariaDB", mysql, "md5_number",
           lambda text, digits: f"floor(conv(left(md5({text}), {digits}), 16, 10) + 0e0)", check_digests),
    Mutant("row text as a NULL where a field is", "MariaDB", mysql, "join_texts",
           lambda texts: f"concat_ws('|', {', '.join(texts)})", check_digests),
    Mutant("microseconds by a double", "PostgreSQL", postgres, "canonical",
           _kind(postgres, _TIMES, lambda name, _: _EXTRACT.format(c=name)), check_texts),
    Mutant("double as the server writes it", "PostgreSQL", postgres, "canonical",
           _kind(postgres, _FLOATS, lambda name, _: f"{name}::text"), check_texts),
    Mutant("-0.0 apart from 0.0", "PostgreSQL", postgres, "canonical",
           _kind(postgres, _FLOATS, lambda name, _: _by_sign_bit(postgres._bits(f"float8send({name})"))), check_texts),
    Mutant("decimal by a double", "PostgreSQL", postgres, "canonical",
           _kind(postgres, {Kind.DECIMAL}, lambda name, item: f"round({name}::float8::numeric, {item.column.scale})::text"),
           check_texts),
    Mutant("padding of char kept", "PostgreSQL", postgres, "canonical",
           _kind(postgres, {Kind.CHAR}, lambda name, _: f"rpad({name}::text, 8)"), check_texts),
    Mutant("keys below zero cut toward zero", "PostgreSQL", postgres, "divide_down",
           lambda number, divisor: f"({number} / {divisor})", check_floor),
    Mutant("md5 of the server's own encoding", "PostgreSQL, LATIN1", postgres, "_IS_UTF8", "true", check_digests),
)  # fmt: skip
PRODUCTS = {product.name: product for product in (MARIADB, POSTGRES, POSTGRES_LATIN1)}


@pytest.mark.parametrize("mutant", PLANTED, ids=lambda mutant: f"{mutant.engine}: {mutant.says}")
def test_planted_fault_turns_its_check_red(
    mutant: Mutant, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of(PRODUCTS[mutant.engine], request, tmp_path)
    case.fill()
    name = f"{mutant.engine}: {mutant.says}"
    MUTANTS[name] = ""
    monkeypatch.setattr(mutant.place, mutant.name, mutant.broken)

    with pytest.raises(AssertionError):
        mutant.check(case)

    MUTANTS[name] = mutant.check.__name__
