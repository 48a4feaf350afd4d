"""The audit log's settings: the key that seals it, how long runs are kept, and whether any may go at all."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationInfo, WithJsonSchema

from hudi_reconcile.config.fields import LAX, PositiveDuration, Section, secret_of
from hudi_reconcile.config.secrets import HIDDEN, Secret


def _key(value: object, info: ValidationInfo) -> object:
    found = secret_of(value, info, "audit.key")
    if isinstance(found, Secret) and not found.template.is_one_reference:
        raise ValueError(
            "must be ${file:PATH} or ${env:NAME} and nothing else: a key in the config is in every copy of it"
        )
    return found


Key = Annotated[
    Secret,
    BeforeValidator(_key),
    PlainSerializer(lambda _: HIDDEN, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["${file:secrets/audit_key}", "${env:AUDIT_KEY}"]}),
]


class AuditConfig(Section):
    """The log of all runs, and how long they are kept."""

    key: Key | None = Field(None, description="${file:PATH} or ${env:NAME}: seals each line of the audit log (HMAC).")
    old_keys: Annotated[tuple[Key, ...], LAX] = Field((), description="Keys that older lines are sealed with.")
    unsealed_head: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = Field(
        None, description="The log's head when it got its first key: lines up to it count though nothing seals them."
    )
    retention: PositiveDuration | None = Field(
        None, description="How long runs are kept, at least; `audit purge` obeys."
    )
    hold: bool = Field(default=False, description="true: `audit purge` removes nothing (legal hold).")
