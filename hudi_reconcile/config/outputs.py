"""Where else a run is told: files and services of others that read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, PlainSerializer, WithJsonSchema

from hudi_reconcile.config.fields import LAX, Finding, LocalPath, Raw, Section, Text, not_empty
from hudi_reconcile.config.secrets import HIDDEN


def _http(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise ValueError("not a URL that starts with https:// or http://")
    return url


def _receiver(url: str) -> str:
    parts = urlsplit(_http(url))
    if parts.username or parts.password or parts.query:
        raise ValueError("holds more than an address; a key stands under `api_key`")
    return url if parts.path.strip("/") else f"{url.rstrip('/')}/{_LINEAGE_PATH}"


def _header(key: str) -> str:
    if not (key.isascii() and key.isprintable()):
        raise ValueError("not one line of ASCII, which is all that a header holds")
    return key


_LINEAGE_PATH = "api/v1/lineage"
ApiKey = Annotated[
    Text,
    AfterValidator(_header),
    PlainSerializer(lambda _: HIDDEN, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["${env:OPENLINEAGE_API_KEY}", "${file:secrets/openlineage}"]}),
]


class OpenLineageConfig(Section):
    """OpenLineage events: to a file, to a service, or both."""

    namespace: Text = Field(description="Namespace of the jobs.")
    file: LocalPath | None = Field(None, description="A file that gets one JSON line an event.")
    url: Annotated[Text, AfterValidator(_receiver)] | None = Field(
        None, description=f"A service that takes each event by POST; without a path, /{_LINEAGE_PATH} is meant."
    )
    api_key: ApiKey | None = Field(
        None, description="Sent to it as `Authorization: Bearer`, never printed; ${env:NAME} or ${file:PATH}."
    )

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """Events go somewhere, and a key is for a service."""
        if not raw.get("file") and not raw.get("url"):
            yield (), "needs `file`, `url` or both"
        if raw.get("api_key") and not raw.get("url"):
            yield ("api_key",), "is for `url`, which is not there"


WebhookUrl = Annotated[
    Text,
    AfterValidator(_http),
    PlainSerializer(lambda _: HIDDEN, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["${env:SLACK_WEBHOOK}", "${file:secrets/slack}"]}),
]
Ending = Literal["clean", "corrected", "pulled", "approved", "drift", "usage", "unverified", "incomplete", "refused"]


class WebhookConfig(Section):
    """One message a run, in the shape of Slack's incoming webhooks."""

    url: WebhookUrl = Field(description="Who has it may post, so it is never printed; ${env:NAME} or ${file:PATH}.")
    on: Annotated[tuple[Ending, ...], LAX, AfterValidator(not_empty)] = Field(
        ("drift", "unverified", "incomplete", "refused", "usage"), description="Outcomes of a run that are told."
    )


class OutputsConfig(Section):
    """Written after each run; each file is replaced whole. What cannot be written is a warning and changes no exit code."""

    junit: LocalPath | None = Field(None, description="JUnit XML of the newest run, a file.")
    prometheus: LocalPath | None = Field(
        None, description="Folder of node_exporter's textfile collector: hudi_reconcile_<command>.prom."
    )
    ndjson: LocalPath | None = Field(None, description="A file that gets one JSON line a table and run.")
    openlineage: OpenLineageConfig | None = Field(
        None, description="OpenLineage events, to a file, to a service, or both."
    )
    webhook: WebhookConfig | None = Field(None, description="One message a run, in the shape of Slack's webhooks.")
    github: bool = Field(
        default=False, description="true: under GitHub Actions, the step's summary and one annotation a problem."
    )
