"""OpenLineage events over HTTP: what arrives, with which key, how often it is tried, and that nothing of it ends a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from hudi_reconcile.app.outputs import deliver, send
from hudi_reconcile.config.model import OpenLineageConfig, OutputsConfig, WebhookConfig
from hudi_reconcile.report.outputs.openlineage import Dataset, Ends
from tests.support.lineage_schemas import hold_event
from tests.support.receiver import SECRET, Receiver, receiver
from tests.unit.report.stories import all_stories

RUN = all_stories()["checked"].run
ENDS = {"orders": Ends(Dataset("postgres://h:5432", "d.orders"), Dataset("file", "/lake/orders"))}
EVENTS = ['{"n": 1}', '{"n": 2}', '{"n": 3}']


def told(server: Receiver, waited: list[float]) -> str:
    return send(EVENTS, server.url, SECRET, wait=waited.append, timeout_seconds=5)


def test_service_gets_each_event_by_itself_with_the_key_and_as_the_specification_says() -> None:
    with receiver(201) as server:
        lineage = OpenLineageConfig(namespace="shop", url=f"http://127.0.0.1:{server.port}", api_key=SECRET)
        said = deliver(OutputsConfig(openlineage=lineage), RUN, {}, ENDS)

    assert said == ()
    assert server.paths == ["/api/v1/lineage"] * 2
    assert {one["authorization"] for one in server.headers} == {f"Bearer {SECRET}"}
    events = [json.loads(body) for body in server.bodies]
    for event in events:
        hold_event(event)
    assert [event["eventType"] for event in events] == ["START", "FAIL"]


def test_file_and_service_are_told_the_same(tmp_path: Path) -> None:
    with receiver(200) as server:
        lineage = OpenLineageConfig(namespace="shop", url=server.url, file=tmp_path / "lineage.ndjson")
        deliver(OutputsConfig(openlineage=lineage), RUN, {}, ENDS)

    assert [body.decode() for body in server.bodies] == (tmp_path / "lineage.ndjson").read_text().splitlines()
    assert "authorization" not in server.headers[0]


def test_service_that_fails_once_gets_the_event_again() -> None:
    waited: list[float] = []
    with receiver(503, 429, 200) as server:
        assert told(server, waited) == ""

    assert [json.loads(body)["n"] for body in server.bodies] == [1, 1, 1, 2, 3]
    assert waited == [0.5, 2.0]


def test_service_that_stays_down_is_tried_for_one_event_only_and_said_without_its_address() -> None:
    waited: list[float] = []
    with receiver(500) as server:
        said = told(server, waited)

    assert said == "3 of 3 events were not taken: the other side answered 500"
    assert (len(server.bodies), len(waited)) == (3, 2)


def test_slow_service_is_not_begun_with_when_the_time_of_all_is_over() -> None:
    clock = iter([0.0, 0.0, 61.0]).__next__
    with receiver(200) as server:
        said = send(EVENTS, server.url, SECRET, clock=clock)

    assert said == "2 of 3 events were not taken: no time was left after 60 s"
    assert len(server.bodies) == 1


def test_event_that_is_refused_for_good_is_not_sent_again_and_hinders_no_other() -> None:
    waited: list[float] = []
    with receiver(422, 200) as server:
        said = told(server, waited)

    assert said == "1 of 3 events were not taken: the other side answered 422"
    assert [json.loads(body)["n"] for body in server.bodies] == [1, 2, 3]
    assert waited == []


def test_service_that_is_not_there_is_a_warning_and_the_webhook_and_the_file_are_told_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hudi_reconcile.app.outputs.TRIES", 1)
    with receiver(200) as gone:
        pass
    with receiver(200) as chat:
        lineage = OpenLineageConfig(namespace="n", url=gone.url, api_key=SECRET, file=tmp_path / "l")
        hook = WebhookConfig(url=chat.url, on=("unverified",))
        (said,) = deliver(OutputsConfig(openlineage=lineage, webhook=hook), RUN, {}, ENDS)

    assert said == "warning: outputs.openlineage: 2 of 2 events were not taken: no answer (ConnectionRefusedError)"
    assert len(chat.bodies) == 1
    assert len((tmp_path / "l").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({}, "needs `file`, `url` or both"),
        ({"file": "f", "api_key": "k"}, "is for `url`, which is not there"),
        ({"url": "ftp://h/x"}, "not a URL that starts with https:// or http://"),
        ({"url": f"https://u:{SECRET}@h/x"}, "holds more than an address; a key stands under `api_key`"),
        ({"url": f"https://h/x?key={SECRET}"}, "holds more than an address; a key stands under `api_key`"),
        ({"url": "https://h", "api_key": f"{SECRET}\r\nHost: x"}, "not one line of ASCII"),
    ],
)
def test_settings_that_cannot_work_are_refused_without_what_is_secret(values: dict[str, str], problem: str) -> None:
    with pytest.raises(ValidationError) as refused:
        OpenLineageConfig.model_validate({"namespace": "n", **values})

    assert problem in str(refused.value)
    assert SECRET not in str(refused.value)


def test_key_is_printed_nowhere() -> None:
    lineage = OpenLineageConfig(namespace="n", url="https://h/l", api_key=SECRET)

    assert SECRET not in lineage.model_dump_json()
    assert '"https://h/l"' in lineage.model_dump_json()
