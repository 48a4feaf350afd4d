"""One table with a column of every kind that MariaDB has: pulled, equal at once in both modes, and every change found."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from tests.integration.project import Project
from tests.support.mariadb import MariaDatabase

pytestmark = pytest.mark.usefixtures("spark")  # commands join the one session: a JVM of their own each costs 10 s

ROWS = 1000
# Type, a value made of the row's number i, and one step away from it. NULL every seventh row.
KINDS: dict[str, tuple[str, str, str]] = {
    "i1": ("tinyint", "i % 100", "i1 + 1"),
    "one": ("tinyint(1)", "i % 3", "one + 1"),
    "i3": ("mediumint", "-8388608 + i", "i3 + 1"),
    "i4": ("int", "-2147483648 + i", "i4 + 1"),
    "i8": ("bigint", "9223372036854770000 + i", "i8 + 1"),
    "u4": ("int unsigned", "4294960000 + i", "u4 + 1"),
    "u8": ("bigint unsigned", "18446744073709550000 + cast(i as unsigned)", "u8 + 1"),
    "z": ("int(8) zerofill", "i", "z + 1"),
    "y": ("year", "1901 + i % 200", "y + 1"),
    "n": ("decimal(38,10)", "1234567890123456789012345678.0123456789 - i", "n + 0.0000000001"),
    "wide": ("decimal(65,30)", "i + 0.000000000000000000000000000001", "wide + 0.000000000000000000000000000001"),
    "re": ("float", "i * 1.5", "re + 0.5"),
    "d": ("double", "i / 4e0", "d * (1e0 + 2.220446049250313e-16)"),
    "b": ("bit(1)", "i % 2", "b ^ b'1'"),
    "bits": ("bit(10)", "i % 512", "bits | 512"),
    "c": ("char(8)", "concat('c', i % 10)", "concat('C', substr(c, 2))"),
    "v": ("varchar(40)", "concat('a|b', i)", "upper(v)"),
    "la": ("varchar(40) character set latin1", "concat('né ', i)", "concat('ne ', i8)"),
    "t": ("text", "concat('täxt ', i)", "concat(t, ' ')"),
    "vb": ("varbinary(20)", "unhex(lpad(hex(i), 8, '0'))", "concat(vb, x'00')"),
    "bl": ("blob", "unhex(lpad(hex(i), 8, '0'))", "x''"),
    "da": ("date", "'1970-01-01' + interval i day", "da + interval 1 day"),
    "dt": ("datetime(6)", "'1969-12-31 23:59:59.999999' + interval i microsecond", "dt + interval 1 microsecond"),
    "d0": ("datetime", "'2024-01-01' + interval i second", "d0 + interval 1 second"),
    "ts": ("timestamp(6) null", "'2024-10-27 00:30:00' + interval i minute", "ts + interval 1 microsecond"),
    "ti": ("time(6)", "sec_to_time(i) + 0", "'-838:59:59'"),
    "e": ("enum('ok','bad')", "if(i % 2, 'ok', 'bad')", "if(e = 'ok', 'bad', 'ok')"),
    "s": ("set('a','b')", "if(i % 2, 'a', 'a,b')", "'b'"),
    "j": ("json", """concat('{"a": ', i, '}')""", "concat(j, ' ')"),
    "u": ("uuid", "concat('00000000-0000-4000-8000-', lpad(hex(i), 12, '0'))", "'00000000-0000-4000-8000-ffffffffffff'"),
    "ip": ("inet6", "concat('::', hex(i))", "'::ffff'"),
    "po": ("point", "point(i, 1)", "point(0, 2)"),
}  # fmt: skip


@pytest.fixture
def project(maria: MariaDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    columns = ", ".join(f"`{name}` {kind}" for name, (kind, _, _) in KINDS.items())
    values = ", ".join(f"if(i % 7 <> 0, {value}, null)" for _, value, _ in KINDS.values())
    maria.execute(
        "set time_zone = '+00:00'",
        f"create table orders (order_id bigint primary key, updated_at datetime not null, {columns})",
        f"insert into orders select i, '2025-01-01', {values} from (select cast(seq as signed) i from seq_1_to_{ROWS}) n",
    )
    found = Project.of(tmp_path, cast("Any", maria), capsys)
    server = maria.server
    found.source["url"] = f"mariadb+pymysql://{server.user}@{server.host}:{server.port}/{maria.name}"
    found.settings["source"] = {"table": "orders"}
    return found


def test_every_kind_is_equal_after_a_pull_and_each_change_of_one_value_is_found_and_repaired(
    maria: MariaDatabase, project: Project
) -> None:
    pulled = project.json("pull")
    assert (pulled.code, pulled.table["pull"]["rows"]) == (0, ROWS), pulled
    project.settings["sweep"] = {"mode": "pushdown"}  # tests/conformance holds every kind in both modes
    clean = project.json("sweep")
    assert (clean.code, clean.table["unverified"], clean.drift) == (0, [], {}), clean
    assert clean.table["segments"]["unequal"] == 0, clean.table["segments"]

    # One row per kind where the column is not NULL, and one where a value becomes NULL.
    changes = {}
    for place, (name, (_, _, step)) in enumerate(KINDS.items()):
        changes[8 + 7 * place], changes[401 + 7 * place] = name, name
        maria.execute(
            f"update orders set `{name}` = {step} where order_id = {8 + 7 * place}",
            f"update orders set `{name}` = null where order_id = {401 + 7 * place}",
        )

    project.settings["sweep"] = {"mode": "stream"}
    sweep = project.json("sweep")
    found = {item["key"]["order_id"]: item["columns"] for item in project.findings()}
    assert found == {key: [name] for key, name in changes.items()}
    assert (sweep.drift, sweep.table["unverified"]) == ({"updated_without_watermark": 2 * len(KINDS)}, [])
    applied = project.json("apply", "latest", "--yes")
    assert (applied.code, applied.table["corrections"]["applied"]) == (0, 2 * len(KINDS)), applied
    assert project.run("sweep").code == 0
