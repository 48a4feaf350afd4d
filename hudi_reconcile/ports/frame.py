"""A handle on rows that stay where they are."""

from __future__ import annotations

from typing import NewType

Frame = NewType("Frame", object)
