"""The webhook against a real HTTP server: what arrives, when, and that its address is told to nobody."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from hudi_reconcile.app.outputs import deliver, post
from hudi_reconcile.config.model import OutputsConfig, WebhookConfig
from tests.support.receiver import SECRET, dripping, receiver
from tests.support.tls import certificates, tls_listener
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


def test_service_whose_certificate_nobody_vouches_for_is_told_nothing(tmp_path: Path) -> None:
    with tls_listener(certificates(tmp_path, "localhost").right) as service:
        missed = post(f"https://localhost:{service.port}/{SECRET}", '{"a": 1}')

    assert missed is not None
    assert "SSLCertVerificationError" in missed.why
    assert service.heard == []


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("scheme", "start", "drip"),
    [
        ("http", OK, b"X-Drip: 1\r\n"),
        ("http", b"HTTP/1.1 20", b"0"),
        ("http", b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        ("http", b"", b""),
        ("https", b"", b"\x16"),
        ("https", b"\x16\x03\x03\x40\x00", b"\x00"),
    ],
    ids=["headers", "status", "continues", "silence", "tls", "tls record"],
)
def test_service_that_drips_is_given_up_at_the_deadline_and_was_not_told(
    scheme: str, start: bytes, drip: bytes
) -> None:
    with dripping(start, drip) as port:
        began = time.monotonic()
        found = post(f"{scheme}://127.0.0.1:{port}/{SECRET}", "{}", timeout_seconds=0.5)
        took = time.monotonic() - began

    assert found is not None
    assert found.may_pass
    assert "no answer" in found.why
    assert SECRET not in found.why
    assert took < 5


def test_service_that_was_given_up_holds_no_thread() -> None:
    with dripping(OK, b"X-Drip: 1\r\n") as port:
        post(f"http://127.0.0.1:{port}/", "{}", timeout_seconds=0.2)
        for thread in threading.enumerate():
            if thread.name == "post":
                thread.join(5)

        assert "post" not in [thread.name for thread in threading.enumerate()]


def test_answer_that_came_in_time_is_taken_however_long_its_body_drips() -> None:
    with dripping(OK + b"\r\n", b"x") as port:
        assert post(f"http://127.0.0.1:{port}/", "{}", timeout_seconds=5) is None
