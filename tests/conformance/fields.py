"""The engines that run here."""

from __future__ import annotations

from tests.conformance.jvm_fields import DERBY, DUCKDB, H2
from tests.conformance.product import Product
from tests.conformance.server_fields import MARIADB, POSTGRES, POSTGRES_LATIN1

PRODUCTS: tuple[Product, ...] = (POSTGRES, POSTGRES_LATIN1, MARIADB, H2, DERBY, DUCKDB)
