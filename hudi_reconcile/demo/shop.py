"""The shop of the demo: a table of orders, a role that may only read it, and the ways in which it drifts for real.

Changes the throw-away database and nothing else. Knows no lake, no Spark and no config.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from hudi_reconcile.demo.postgres import PostgresServer

DATABASE, READER = "shop", "reader"
LEAST_ROWS = 100  # with fewer the planted changes would be a larger share than the default policy allows
_SILENT = (0.05, 0.25, 0.5, 0.65, 0.95)  # places in the table, as shares of its rows
_DELETED = (0.15, 0.45, 0.85)

_TABLE = """
create table orders (
    order_id    bigint primary key,
    customer_id integer not null,
    status      varchar(10) not null,
    amount      numeric(12, 2),
    paid        boolean not null,
    note        text,
    country     char(2),
    due_on      date,
    placed_at   timestamp,
    receipt     uuid,
    signature   bytea,
    weight_kg   real,
    rating      double precision,
    updated_at  timestamptz not null
)
"""
# The newest order is a minute old, the oldest 30 days.
_ROWS = """
insert into orders
select i, 1 + i %% 500, (array['NEW', 'PAID', 'SHIPPED'])[1 + i %% 3], round((i %% 9973) * 1.37 + 0.99, 2), i %% 3 > 0,
       case when i %% 7 = 0 then null else 'order ' || i end, (array['AT', 'DE', 'FR', 'IT'])[1 + i %% 4],
       current_date - (i %% 30)::int, date_trunc('second', now() at time zone 'UTC') - (i %% 720) * interval '1 hour',
       md5(i::text)::uuid, decode(md5('s' || i), 'hex'), (i %% 400) * 0.25, (i %% 50) / 10.0,
       now() - interval '1 minute' - (%(rows)s - i) * (interval '30 days' / %(rows)s)
  from generate_series(1, %(rows)s::bigint) i
"""
_ORDER = """
insert into orders (order_id, customer_id, status, amount, paid, note, country, due_on, placed_at, receipt, updated_at)
values (%(id)s, 7, 'NEW', 42.50, false, %(note)s, 'AT', current_date, now() at time zone 'UTC', gen_random_uuid(),
        now() - make_interval(mins => %(minutes_ago)s))
"""


@dataclass(frozen=True, slots=True)
class Shop:
    """The shop's database. `silent` and `deleted` are the orders that will drift; two more come: one late, one ordinary."""

    server: PostgresServer
    rows: int
    reader_password: str = field(repr=False)

    @property
    def reader_url(self) -> str:
        """SQLAlchemy URL of the reading role, without its password."""
        return f"postgresql+psycopg://{READER}@{self.server.host}:{self.server.port}/{DATABASE}"

    @property
    def silent(self) -> tuple[int, ...]:
        """The orders that are changed without a new `updated_at`."""
        return tuple(int(self.rows * share) for share in _SILENT)

    @property
    def deleted(self) -> tuple[int, ...]:
        """The orders that are deleted."""
        return tuple(int(self.rows * share) for share in _DELETED)

    @property
    def late(self) -> int:
        """The order of the till whose transaction commits late."""
        return self.rows + 1

    @property
    def ordinary(self) -> int:
        """The order that comes in as orders should."""
        return self.rows + 2


def open_shop(server: PostgresServer, rows: int) -> Shop:
    """Make the database, the table with its rows, and the reading role."""
    shop = Shop(server, rows, secrets.token_urlsafe(16))
    with _connect(server, server.database, autocommit=True) as admin:
        admin.execute(f"create database {DATABASE}")
        role = sql.SQL("create role {} login password {}")
        admin.execute(role.format(sql.Identifier(READER), sql.Literal(shop.reader_password)))
        # With it the reader sees other sessions' open transactions, from which a pull takes its safe bound.
        admin.execute(f"grant pg_read_all_stats to {READER}")
    with _connect(server, DATABASE) as owner:
        owner.execute(_TABLE)
        owner.execute(_ROWS, {"rows": rows})
        owner.execute("create index on orders (updated_at)")
        owner.execute(f"grant select on orders to {READER}")
    return shop


@contextmanager
def open_late_order(shop: Shop) -> Iterator[None]:
    """An order is taken in a transaction that stays open for the block and commits after it.

    The till gave it the time of the sale, five minutes ago: by the time others can see the row, its `updated_at` is past.
    """
    with _connect(shop.server, DATABASE) as till:
        till.execute(_ORDER, {"id": shop.late, "note": "taken at the till", "minutes_ago": 5})
        yield


def make_drift(shop: Shop) -> None:
    """Change five orders without touching `updated_at`, delete three, and take one ordinary new order."""
    with _connect(shop.server, DATABASE) as hand:
        hand.execute("update orders set status = 'REFUNDED', amount = 0 where order_id = any(%s)", [list(shop.silent)])
        hand.execute("delete from orders where order_id = any(%s)", [list(shop.deleted)])
        hand.execute(_ORDER, {"id": shop.ordinary, "note": "ordered on the web", "minutes_ago": 0})


def _connect(server: PostgresServer, database: str, *, autocommit: bool = False) -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(
        host=server.host,
        port=server.port,
        user=server.user,
        password=server.password,
        dbname=database,
        autocommit=autocommit,
    )
