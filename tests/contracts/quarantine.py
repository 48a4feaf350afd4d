"""What every quarantine keeps to, on images of `id, v` and two rules. Run on the fake and on Spark frames."""

from __future__ import annotations

from typing import Protocol

from hudi_reconcile.core.rules.rules import NotNull, Rule, ValueRange
from hudi_reconcile.ports import Frame, Quarantine

Image = tuple[int, int | None]  # id and v
RULES = (
    Rule("there", NotNull("v")),
    Rule("small", ValueRange("v", max=50)),
    Rule("even smaller", ValueRange("v", max=9)),
)


class QuarantineGround(Protocol):
    """A quarantine by `RULES`, and frames for it."""

    @property
    def port(self) -> Quarantine: ...

    def images(self, *rows: Image) -> Frame: ...

    def held(self, keys: Frame) -> dict[int, list[str]]:
        """The rules that are named of each id, which is there once, and nothing but the key beside them."""
        ...

    def listed(self) -> set[int]:
        """The ids in the run's folder."""
        ...


class QuarantineContract:
    def test_images_are_held_with_the_rules_that_they_break_and_counted_by_rule(self, ground: QuarantineGround) -> None:
        images = ground.images((1, 5), (2, None), (3, 51), (4, 50), (5, 9), (6, 10))

        found = ground.port.hold_rows(images, ("id",))

        assert ground.held(found.keys) == {
            2: ["there"], 3: ["small", "even smaller"], 4: ["even smaller"], 6: ["even smaller"],
        }  # fmt: skip
        assert dict(found.by_rule) == {"even smaller": 3, "small": 1, "there": 1}
        assert ground.listed() == {2, 3, 4, 6}

    def test_images_that_break_no_rule_are_not_held_and_nothing_is_listed(self, ground: QuarantineGround) -> None:
        found = ground.port.hold_rows(ground.images((1, 5), (2, 9)), ("id",))

        assert (ground.held(found.keys), dict(found.by_rule), ground.listed()) == ({}, {}, set())

    def test_no_images_at_all_are_no_rows_to_hold(self, ground: QuarantineGround) -> None:
        found = ground.port.hold_rows(ground.images(), ("id",))

        assert (ground.held(found.keys), dict(found.by_rule)) == ({}, {})
