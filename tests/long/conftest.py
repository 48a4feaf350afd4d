"""The same second writer as in tests/integration."""

from __future__ import annotations

from tests.integration import conftest as integration

second_writer = integration.second_writer
