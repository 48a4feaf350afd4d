from __future__ import annotations

from hudi_reconcile.core.sweep.coverage import SweepReach, describe_part, list_left_out, note_part
from hudi_reconcile.core.tables.partitions import PartitionRows

LAKE = tuple(PartitionRows(f"month=2026-0{month}", 10) for month in range(1, 9))


def test_whole_table_says_nothing() -> None:
    whole = SweepReach("orders", 9, 9)

    assert (whole.is_whole, list_left_out(whole), describe_part(whole), note_part(whole)) == (True, (), None, ())


def test_partitions_are_said_with_what_lies_outside_and_the_command_that_compares_it() -> None:
    part = SweepReach("my orders", 9, 9, ("month=2026-01", "month=2027-01"), LAKE, source_rows_left_out=68)

    (item,) = list_left_out(part)

    assert (part.is_whole, item.what, item.name) == (False, "rows", "my orders")
    assert "7 of 8 partitions of the lake were not compared (month=2026-02, " in item.why
    assert "70 lake rows and 68 source rows lie outside month=2026-01, month=2027-01" in item.why
    assert item.fix.endswith("hudi-reconcile sweep -t 'my orders'")
    assert describe_part(part) == "partitions month=2026-01, month=2027-01"
    assert note_part(part)[1] == "not in the lake: month=2027-01"


def test_all_partitions_by_name_are_still_no_proof_of_the_table() -> None:
    part = SweepReach("orders", 9, 9, tuple(one.path for one in LAKE), LAKE)

    assert not part.is_whole
    assert [item.what for item in list_left_out(part)] == ["rows"]


def test_spent_budget_is_said_with_the_command_that_goes_on() -> None:
    part = SweepReach("orders", 9, 4, budget="10m")

    (item,) = list_left_out(part)

    assert (item.what, describe_part(part)) == ("segment", "4 of 9 segments")
    assert "5 of 9 segments were not compared" in item.why
    assert item.fix.endswith("hudi-reconcile sweep -t orders --budget 10m")


def test_both_options_say_both() -> None:
    part = SweepReach("orders", 9, 4, ("month=2026-01",), LAKE, "10m", 3)

    found = list_left_out(part)

    assert [item.what for item in found] == ["rows", "segment"]
    assert found[1].fix.endswith("sweep -t orders --where-partition month=2026-01 --budget 10m")
    assert describe_part(part) == "partitions month=2026-01, 4 of 9 segments"
