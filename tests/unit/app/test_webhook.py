"""The webhook against a real HTTP server: what arrives, when, and that its address is told to nobody."""

from __future__ import annotations

import json

import pytest

from hudi_reconcile.app.outputs import deliver
from hudi_reconcile.app.posting import post
from hudi_reconcile.config.outputs import OutputsConfig, WebhookConfig
from tests.support.receiver import SECRET, receiver
from tests.unit.report.stories import all_stories

STORIES = all_stories()


def test_message_says_how_the_run_ended_and_what_to_type_next() -> None:
    with receiver(200) as server:
        said = deliver(OutputsConfig(webhook=WebhookConfig(url=server.url)), STORIES["drift"].run, {}, {})

    (body,) = server.bodies
    text = json.loads(body)["text"]
    assert said == ()
    assert text.startswith(
        "*hudi-reconcile sweep: drift* (exit code 1, run 20261121T132616Z-3f9a1c)\n9 rows of orders differ"
    )
    assert "`hudi-reconcile -c shop/reconcile.yaml apply 20261121T132616Z-3f9a1c`" in text


def test_outcome_that_is_not_asked_for_is_not_told() -> None:
    with receiver(200) as server:
        deliver(OutputsConfig(webhook=WebhookConfig(url=server.url)), STORIES["clean"].run, {}, {})

    assert server.bodies == []


@pytest.mark.parametrize("status", [302, 404, 500])
def test_message_that_was_not_taken_is_a_warning_without_the_address(status: int) -> None:
    with receiver(status) as server:
        said = deliver(OutputsConfig(webhook=WebhookConfig(url=server.url)), STORIES["drift"].run, {}, {})

    assert said == (f"warning: outputs.webhook: the other side answered {status}",)
    assert len(server.bodies) == 1


def test_address_where_nobody_listens_is_a_warning_without_the_address() -> None:
    with receiver(200) as server:
        pass

    found = post(server.url, "{}", timeout_seconds=2)

    assert found is not None
    assert found.why == "no answer (ConnectionRefusedError)"


def test_address_is_printed_nowhere() -> None:
    outputs = OutputsConfig(webhook=WebhookConfig(url=f"https://h/{SECRET}"))

    assert SECRET not in outputs.model_dump_json()


def test_markup_in_a_message_is_text() -> None:
    with receiver(200) as server:
        deliver(
            OutputsConfig(webhook=WebhookConfig(url=server.url, on=("unverified",))), STORIES["checked"].run, {}, {}
        )

    assert "<" not in json.loads(server.bodies[0])["text"]
