"""Sends OpenLineage events to a service, one POST an event, as its HTTP transport does.

A receiver that is down costs no more than a few tries of one event: the others are not tried then. With one that is slow,
no event is begun after a minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from hudi_reconcile.app.posting import TIMEOUT_SECONDS, NotTaken, post
from hudi_reconcile.core.retry import wait_seconds

TRIES = 3
TOTAL_SECONDS = 60.0


def send(
    events: Sequence[str],
    url: str,
    api_key: str | None,
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    total_seconds: float = TOTAL_SECONDS,
    wait: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> str:
    """Send each event; empty where all were taken, else how many were not, and why. Never raises.

    What may pass (no answer, 429, 5xx) is tried three times; an event may then arrive twice, under the same run id. One that
    is refused for good hinders no other. After `total_seconds` no further one is begun.
    """
    until = clock() + total_seconds
    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    refused: list[str] = []
    for number, event in enumerate(events):
        if clock() >= until:
            refused += [f"no time was left after {total_seconds:g} s"] * (len(events) - number)
            break
        found = _tried(lambda event=event: post(url, event, headers, timeout_seconds=timeout_seconds), wait)  # type: ignore[misc]
        if found is None:
            continue
        refused.append(found.why)
        if found.may_pass:
            refused += [found.why] * (len(events) - number - 1)
            break
    if not refused:
        return ""
    return f"{len(refused)} of {len(events)} events were not taken: {'; '.join(dict.fromkeys(refused))}"


def _tried(act: Callable[[], NotTaken | None], wait: Callable[[float], None]) -> NotTaken | None:
    found = act()
    for attempt in range(1, TRIES):
        if found is None or not found.may_pass:
            break
        wait(wait_seconds(attempt))
        found = act()
    return found
