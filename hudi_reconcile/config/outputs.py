"""Where else a run is told: files and services of others that read it."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, PlainSerializer, WithJsonSchema

from hudi_reconcile.config.fields import LAX, LocalPath, Section, Text, not_empty
from hudi_reconcile.config.secrets import HIDDEN


class OpenLineageConfig(Section):
    """OpenLineage events."""

    file: LocalPath = Field(description="A file that gets one JSON line an event.")
    namespace: Text = Field(description="Namespace of the jobs.")


def _http(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise ValueError("not a URL that starts with https:// or http://")
    return url


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
    openlineage: OpenLineageConfig | None = Field(None, description="OpenLineage events, appended to a file.")
    webhook: WebhookConfig | None = Field(None, description="One message a run, in the shape of Slack's webhooks.")
    github: bool = Field(
        default=False, description="true: under GitHub Actions, the step's summary and one annotation a problem."
    )
