"""The table of the benchmark: 1,000,000 rows of 8 columns in PostgreSQL, a copy beside it for tools that compare databases."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg

from hudi_reconcile.config.load import load_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.demo.postgres import PostgresServer

VARIABLE = "BENCH_PASSWORD"
CONFIG = """version: 1
source:
  url: postgresql+psycopg://{user}@{host}:{port}/{database}
  password: ${{env:{variable}}}
tables:
"""
TABLE = """  - name: orders
    source: {table: public.orders}
    pull: {strategy: timestamp, watermark: [updated_at]}
    lake: {path: lake/orders}
"""

CREATE = """
create table {name} (
  order_id bigint primary key, customer_id int not null, status varchar(12) not null, amount numeric(12,2) not null,
  paid boolean not null, note text, created_at timestamp(6) not null, updated_at timestamp(6) not null)
"""
FILL = """
insert into {name}
select i, (i::bigint * 7919) % 100000, (array['NEW','PAID','SHIPPED','RETURNED'])[1 + i % 4], (i % 1000000) / 100.0, i % 3 = 0,
       case when i % 5 = 0 then null else 'note of order ' || i end,
       timestamp '2025-01-01' + i * interval '17 seconds 3 microseconds',
       timestamp '2025-01-01' + i * interval '17 seconds 5 microseconds'
  from generate_series(1, {rows}) i
"""
# 100 scattered drifts: 40 silent updates, 30 rows the lake lacks, 30 rows only the lake has.
DRIFT = (
    "update orders set amount = amount + 0.01 where order_id % 25000 = 11",
    "insert into orders select 0 - i, 1, 'NEW', 1, true, null, '2025-01-02', '2025-01-02' from generate_series(1, 30) i",
    "delete from orders where order_id in (select 777 + i * 33013 from generate_series(1, 30) i)",
)
EXPECTED = {"late_arriving": 30, "updated_without_watermark": 40, "deleted": 30}


def plain(server: PostgresServer) -> str:
    """The server's URL as psycopg takes it."""
    return server.url.replace("postgresql+psycopg://", "postgresql://")


def configured(folder: Path, server: PostgresServer, *, port: int | None = None, tables: str = TABLE) -> Config:
    """A `reconcile.yaml` in the folder, as read; through another port of this host where one is given."""
    os.environ[VARIABLE] = server.password
    place = {"host": server.host, "port": server.port} if port is None else {"host": "127.0.0.1", "port": port}
    path = folder / "reconcile.yaml"
    path.write_text(CONFIG.format(user=server.user, database=server.database, variable=VARIABLE, **place) + tables)
    return load_config(path, os.environ)


def fill(url: str, rows: int) -> None:
    """Make `orders` and its copy `orders_copy`, analysed."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop table if exists orders, orders_copy")
        connection.execute(CREATE.format(name="orders"))
        connection.execute(FILL.format(name="orders", rows=rows))
        connection.execute("create table orders_copy as table orders")
        connection.execute("alter table orders_copy add primary key (order_id)")
        connection.execute("vacuum analyze orders")
        connection.execute("vacuum analyze orders_copy")


def drift(url: str) -> None:
    """Plant the 100 drifts at the source; the lake and the copy stay as they were."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in DRIFT:
            connection.execute(statement)


def find_postmaster(control: psycopg.Connection) -> int:
    """The number of the server's first process. Raises RuntimeError where the server does not tell it."""
    row = control.execute("select split_part(pg_read_file('postmaster.pid'), chr(10), 1)::int").fetchone()
    if row is None:
        raise RuntimeError("postmaster.pid is empty")
    return int(row[0])
