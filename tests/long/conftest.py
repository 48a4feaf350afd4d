"""The same real parts as in tests/integration."""

from __future__ import annotations

from tests.integration import conftest as real

postgres_server, pg, spark_session, spark = real.postgres_server, real.pg, real.spark_session, real.spark
second_writer = real.second_writer
