"""What the shop plants must be told apart by the sweep, whatever the number of its orders."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.config.tables import PolicyConfig
from hudi_reconcile.demo.postgres import PostgresServer
from hudi_reconcile.demo.shop import LEAST_ROWS, Shop

SERVER = PostgresServer(host="127.0.0.1", port=5432, user="a", password="secret-1", database="postgres", version="18")


@given(st.integers(LEAST_ROWS, 10_000_000))
def test_planted_orders_are_distinct_and_exist(rows: int) -> None:
    shop = Shop(SERVER, rows, "secret-2")

    assert len({*shop.silent, *shop.deleted}) == 8
    assert all(1 <= order <= rows for order in (*shop.silent, *shop.deleted))
    assert rows < shop.late < shop.ordinary


def test_smallest_shop_drifts_within_the_default_policy() -> None:
    policy = PolicyConfig()

    assert policy.max_delete_share >= 3 / LEAST_ROWS
    assert policy.max_upsert_share >= 6 / LEAST_ROWS


def test_shop_shows_no_password() -> None:
    assert "secret" not in repr(Shop(SERVER, 100, "secret-2")) + Shop(SERVER, 100, "secret-2").reader_url
