"""Thirty nights of a shop: what its database does each day, and what goes wrong on some nights.

Each night brings rows and changes that a pull sees, and drift that none sees. Its days are data: nothing here reads a clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.postgres import Database

NIGHTS = 30
TABLES = ("orders", "events")
ROWS = 2_000
DRIFT = {"late_arriving": 2, "updated_without_watermark": 3, "deleted": 2}  # planted in each table, each night
PULLED = 35  # 20 new rows, 15 changed ones
_SLICE = 40  # keys of a night, below ROWS: no row is touched twice

CREATE = """
create table {name} (order_id bigint primary key, created_at timestamp not null, region text not null, note text,
  amount numeric(12,2) not null, updated_at timestamp not null)
"""
_DAY_ONE = "timestamp '2025-01-01'"
_ROW = f"{_DAY_ONE} + (i % 10) * interval '1 day', (array['north','south','east'])[1 + i % 3], 'note ' || i, i / 100.0"
FILL = f"insert into {{name}} select i, {_ROW}, {_DAY_ONE} + i * interval '1 second' from generate_series(1, {ROWS}) i"


@dataclass(frozen=True, slots=True)
class Night:
    """A night, by its number from 1, and the fault that it has, if any."""

    number: int
    fault: str = ""

    @property
    def has_changes(self) -> bool:
        return self.fault != QUIET

    @property
    def is_plain(self) -> bool:
        return not self.fault


QUIET = "nothing happened"
SWEEP_ONLY = "run without --apply"
CRASH = "the database crashes"
LOCKED = "a table is locked"
NEW_COLUMN = "a new column"
PURGED_SOURCE = "a table is empty"
MASS_DELETE = "a tenth is deleted"
# Of `tests.support.stop_places`: where the run is ended, and how.
ENDED = {
    3: ("first table: the corrections landed, before anybody knows", "SIGKILL"),
    14: ("first table: before they are verified", "SIGTERM"),
    18: ("first table: before the sweep looks", "Java"),
    24: ("first table: the pull's commit landed, before anybody knows", "SIGKILL"),
}
FAULTS = {
    5: SWEEP_ONLY,
    8: CRASH,
    11: LOCKED,
    13: NEW_COLUMN,
    16: QUIET,
    21: MASS_DELETE,
    23: PURGED_SOURCE,
    27: CRASH,
    **{number: f"{way} at a place" for number, (_, way) in ENDED.items()},
}


def nights() -> tuple[Night, ...]:
    return tuple(Night(number, FAULTS.get(number, "")) for number in range(1, NIGHTS + 1))


def make_tables(database: Database) -> None:
    for name in TABLES:
        database.execute(CREATE.format(name=name), FILL.format(name=name))


def play_day(database: Database, night: Night) -> None:
    """The day before a night, in every table: what a pull sees, and then what it does not."""
    first = (night.number - 1) * _SLICE
    new = ROWS + night.number * 100
    when = f"timestamp '2025-01-02' + {night.number} * interval '1 day'"
    long_ago = f"{when} - interval '60 hours'"  # before the last checkpoint
    for name in TABLES:
        database.execute(
            f"insert into {name} (order_id, created_at, region, note, amount, updated_at)"
            f" select i, {_ROW}, {when} + i * interval '1 millisecond' from generate_series({new + 1}, {new + 20}) i",
            f"update {name} set amount = amount + 1, updated_at = {when} where order_id between {first + 1} and {first + 15}",
            f"insert into {name} (order_id, created_at, region, note, amount, updated_at)"
            f" select i, {_ROW}, {long_ago} from generate_series({new + 21}, {new + 22}) i",
            f"update {name} set note = 'silent' where order_id between {first + 16} and {first + 18}",
            f"delete from {name} where order_id between {first + 19} and {first + 20}",
        )
