"""Where else a run is told: files and services of others that read it."""

from __future__ import annotations

from pydantic import Field

from hudi_reconcile.config.fields import LocalPath, Section, Text


class OpenLineageConfig(Section):
    """OpenLineage events."""

    file: LocalPath = Field(description="A file that gets one JSON line an event.")
    namespace: Text = Field(description="Namespace of the jobs.")


class OutputsConfig(Section):
    """Written after each run; each file is replaced whole. What cannot be written is a warning and changes no exit code."""

    junit: LocalPath | None = Field(None, description="JUnit XML of the newest run, a file.")
    prometheus: LocalPath | None = Field(
        None, description="Folder of node_exporter's textfile collector: hudi_reconcile_<command>.prom."
    )
    ndjson: LocalPath | None = Field(None, description="A file that gets one JSON line a table and run.")
    openlineage: OpenLineageConfig | None = Field(None, description="OpenLineage events, appended to a file.")
    github: bool = Field(
        default=False, description="true: under GitHub Actions, the step's summary and one annotation a problem."
    )
