"""Who may write: the decision on a lease, and what a process can know of another one."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.lake.lease import (
    LEASE_MS,
    Claim,
    Holder,
    Lease,
    build_lease_path,
    decide_claim,
    decide_damaged_claim,
    describe_process,
    format_lease,
    inherit_lease,
    is_alive,
    parse_lease,
    start_time,
)

ME = Holder("host-a", "boot-1 pid:[1]", 100, "5000")
LEASE = Lease(replace(ME, pid=200), "run 7", "token", "20260101000000000", 1_000_000, 1_300_000)


@pytest.mark.parametrize(
    ("lease", "now_ms", "state", "claim"),
    [
        (None, 0, "gone", Claim.FREE),
        (LEASE, 1_000_000, "runs", Claim.HELD),
        (LEASE, 9_000_000, "runs", Claim.HELD),  # it may be slow to renew, but it runs
        (LEASE, 1_000_000, "gone", Claim.OURS_DEAD),
        (replace(LEASE, holder=replace(ME, host="host-b")), 1_299_999, "gone", Claim.HELD),
        (replace(LEASE, holder=replace(ME, host="host-b")), 1_300_000, "gone", Claim.EXPIRED),
        (replace(LEASE, holder=replace(ME, scope="boot-2 pid:[1]")), 1_299_999, "gone", Claim.HELD),
        (replace(LEASE, holder=replace(ME, scope="boot-2 pid:[1]")), 1_300_000, "runs", Claim.EXPIRED),
    ],
)
def test_claim_follows_life_on_this_host_and_time_elsewhere(
    lease: Lease | None,
    now_ms: int,
    state: str,
    claim: Claim,
) -> None:
    assert decide_claim(lease, ME, now_ms=now_ms, is_alive=state == "runs") is claim


def test_lease_speaks_of_a_dead_ones_instants_too_until_they_are_rolled_back() -> None:
    later = replace(LEASE, owner="run 8", token="other", since="20260101000100000", since_ms=1_060_000)

    assert inherit_lease(later, None) == later
    assert inherit_lease(later, LEASE) == replace(later, since=LEASE.since, since_ms=LEASE.since_ms)
    assert inherit_lease(LEASE, later) == LEASE


def test_claim_on_a_damaged_file_waits_for_the_time_of_a_lease() -> None:
    assert decide_damaged_claim(1000, now_ms=1000 + LEASE_MS - 1) is Claim.HELD
    assert decide_damaged_claim(1000, now_ms=1000 + LEASE_MS) is Claim.EXPIRED


@given(st.text(), st.text(), st.integers(0, 2**40))
def test_lease_text_is_read_back_as_it_was(owner: str, started: str, since_ms: int) -> None:
    lease = replace(LEASE, owner=owner, holder=replace(ME, started=started), since_ms=since_ms)

    assert parse_lease(format_lease(lease)) == lease


@given(st.one_of(st.text(), st.sampled_from(["", "{}", "[]", "null", '{"version": 1}', '{"version": 1, "holder": 3}'])))
def test_text_that_is_no_lease_is_none(text: str) -> None:
    assert parse_lease(text) is None


@pytest.mark.parametrize(
    "old_new", [('"version": 1', '"version": 2'), ('"pid": 200', '"pid": "200"'), ('"owner"', '"ower"')]
)
def test_lease_of_another_version_or_shape_is_none(old_new: tuple[str, str]) -> None:
    text = format_lease(LEASE)
    assert old_new[0] in text

    assert parse_lease(text.replace(*old_new)) is None


def test_process_is_known_to_live_until_it_ends_and_not_by_its_pid_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        holder = Holder("h", "s", child.pid, start_time(child.pid) or "")
        assert is_alive(holder)
        assert not is_alive(replace(holder, started="1"))
        child.kill()
        child.wait()
    assert not is_alive(holder)
    assert is_alive(describe_process())


@pytest.mark.parametrize(
    ("table", "path"),
    [
        ("/data/lake/orders", "/data/lake/.orders.hr-lease.json"),
        ("/data/lake/orders/", "/data/lake/.orders.hr-lease.json"),
        ("orders", ".orders.hr-lease.json"),
        ("/orders", "/.orders.hr-lease.json"),
        ("s3a://bucket/lake/orders", "s3a://bucket/lake/.orders.hr-lease.json"),
    ],
)
def test_lease_lies_beside_the_table(table: str, path: str) -> None:
    assert build_lease_path(table) == path
