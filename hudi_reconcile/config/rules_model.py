"""What a rules file may say: one section for each kind of check, and waivers. Decides within one entry; reads no file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from hudi_reconcile.config.fields import LAX, Duration, Finding, Raw, Section, SomeNames, Text, not_empty
from hudi_reconcile.config.numbers import exact_number, refuse_rounding
from hudi_reconcile.config.rule_query import refuse_reach, with_batch
from hudi_reconcile.config.scalars import SHARE_PATTERN, parse_share
from hudi_reconcile.config.tables import folder_name
from hudi_reconcile.core import rules as core
from hudi_reconcile.core.rules import Allow, Severity

_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
DriftKind = Literal["late_arriving", "updated_without_watermark", "deleted", "regressed", "duplicate_key"]


def _allow(value: object) -> object:
    if isinstance(value, Allow):
        return value
    if type(value) is int and value >= 0:
        return Allow(value)
    if isinstance(value, str) or (isinstance(value, float) and 0 < value < 1):
        return Allow(share=parse_share(value))
    raise ValueError("must be a count of rows (5) or a share of them (0.1%)")


def _number(value: object) -> object:
    """Numbers as exact decimals, texts as they are."""
    return exact_number(value) if isinstance(value, float) else value


def _scalar(value: object) -> object:
    found = _number(value)
    if not isinstance(found, str | int | Decimal):
        raise ValueError("must be a number, a text or true or false")
    return found


def _end(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number, a date, a time or a text")
    return None if value is None else _scalar(value)


def _tolerance(value: object) -> object:
    found = Decimal(value) if type(value) is int else _number(value)
    if not isinstance(found, Decimal) or found < 0:
        raise ValueError("must be a number from 0 up")
    return found


def _arguments(value: object) -> object:
    refuse_rounding(value)
    return value


def _day(value: object) -> object:
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        raise ValueError("must be a date such as 2026-12-01") from None


_SCALAR_SCHEMA = {"type": ["string", "number", "boolean"]}
AllowField = Annotated[
    Allow,
    BeforeValidator(_allow),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": SHARE_PATTERN}, {"type": "number"}]}
    ),
]
End = Annotated[Any, BeforeValidator(_end), WithJsonSchema({"type": ["string", "number"]})]
Values = Annotated[
    tuple[Annotated[Any, BeforeValidator(_scalar), WithJsonSchema(_SCALAR_SCHEMA)], ...], LAX, AfterValidator(not_empty)
]
ToleranceField = Annotated[
    Decimal, BeforeValidator(_tolerance), WithJsonSchema({"type": "number", "minimum": 0, "examples": [0.01]})
]
Day = Annotated[date, BeforeValidator(_day), WithJsonSchema({"type": "string", "pattern": _DATE, "format": "date"})]


class RuleEntry(Section):
    """What every rule has."""

    id: Annotated[Text, AfterValidator(folder_name)] = Field(
        description="Stable and unique; names the rule everywhere."
    )
    severity: Severity = Field("error", description="error | warn (fails a run only under --fail-on warn)")
    why: Text | None = Field(None, description="Shown where the rule fails: what it means, whom to call.")

    def check_of(self) -> core.Check:
        """The check as a value."""
        raise NotImplementedError

    def rule(self) -> core.Rule:
        """The rule as a value."""
        allow = getattr(self, "allow", Allow())
        quarantine = getattr(self, "quarantine", False)
        return core.Rule(self.id, self.check_of(), self.severity, allow, quarantine=quarantine, why=self.why or "")


class RowRule(RuleEntry):
    """A rule that counts rows."""

    allow: AllowField = Field(Allow(), description="Failed rows to bear: a count (5) or a share of the rows (0.1%).")


class BatchRule(RowRule):
    """A rule on the table's own rows."""

    quarantine: bool = Field(default=False, description="true: `apply` holds back corrections that break this rule.")

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """Only what fails a run holds a correction back."""
        if raw.get("quarantine") is True and raw.get("severity") == "warn":
            yield ("quarantine",), "needs `severity: error`"


class NotNullRule(BatchRule):
    """`not_null`: the column holds a value in every row."""

    check: Literal["not_null"]
    column: Text

    def check_of(self) -> core.Check:
        """The check."""
        return core.NotNull(self.column)


class UniqueRule(RowRule):
    """`unique`: no two rows hold the same values; rows with a NULL among them are left out."""

    check: Literal["unique"]
    columns: SomeNames

    def check_of(self) -> core.Check:
        """The check."""
        return core.Unique(self.columns)


class BetweenRule(BatchRule):
    """`between`: values lie between the ends, both included. NULLs are left out."""

    check: Literal["between"]
    column: Text
    min: End = None
    max: End = None

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """At least one end."""
        yield from super().cross_findings(raw)
        if raw.get("min") is None and raw.get("max") is None:
            yield (), "needs `min` or `max`"

    def check_of(self) -> core.Check:
        """The check."""
        return core.Between(self.column, self.min, self.max)


class InSetRule(BatchRule):
    """`in_set`: values are among these. NULLs are left out."""

    check: Literal["in_set"]
    column: Text
    values: Values

    def check_of(self) -> core.Check:
        """The check."""
        return core.InSet(self.column, self.values)


class MatchesRule(BatchRule):
    """`matches`: the text holds a match of the regular expression. NULLs are left out."""

    check: Literal["matches"]
    column: Text
    regex: Text

    def check_of(self) -> core.Check:
        """The check."""
        return core.Matches(self.column, self.regex)


class SqlRule(RowRule):
    """`sql`: a Spark SELECT over {batch} that returns the rows that are wrong; with the key columns they are named."""

    check: Literal["sql"]
    query: Annotated[Text, AfterValidator(with_batch)]

    def check_of(self) -> core.Check:
        """The check."""
        return core.Sql(self.query)


class GxRule(RowRule):
    """`gx`: an expectation of Great Expectations that reads the batch only."""

    check: Literal["gx"]
    type: Text
    kwargs: Annotated[dict[Text, Any], BeforeValidator(_arguments)] = Field({}, description="Its keyword arguments.")

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """What it hands to Spark reads the batch only, as far as the text shows it."""
        try:
            refuse_reach(core.Gx(str(raw.get("type")), raw.section("kwargs").values))
        except ValueError as error:
            yield ("kwargs",), str(error)

    def check_of(self) -> core.Check:
        """The check."""
        return core.Gx(self.type, self.kwargs)


class DriftRule(RowRule):
    """`drift`: the newest sweep found no drift of these kinds."""

    check: Literal["drift"]
    kinds: Annotated[tuple[DriftKind, ...], LAX, AfterValidator(not_empty)] = get_args(DriftKind)
    max_age: Duration | None = None

    def check_of(self) -> core.Check:
        """The check."""
        return core.Drift(tuple(dict.fromkeys(self.kinds)), self.max_age)


class TotalRule(RuleEntry):
    """`total`: the column's sum in the source and in the lake."""

    check: Literal["total"]
    column: Text
    tolerance: ToleranceField = Decimal(0)

    def check_of(self) -> core.Check:
        """The check."""
        return core.Total(self.column, self.tolerance)


class FreshnessRule(RuleEntry):
    """`freshness`: the greatest watermark pulled so far is no older than this."""

    check: Literal["freshness"]
    max_age: Duration

    def check_of(self) -> core.Check:
        """The check."""
        return core.Freshness(self.max_age)


AnyRule = (
    NotNullRule | UniqueRule | BetweenRule | InSetRule | MatchesRule | SqlRule | GxRule | DriftRule | TotalRule
    | FreshnessRule
)  # fmt: skip
RULES: dict[str, type[RuleEntry]] = {
    get_args(one.model_fields["check"].annotation)[0]: one for one in get_args(AnyRule)
}


class WaiverEntry(Section):
    """A failure that somebody answers for until a day."""

    rule: Text = Field(description="The rule's id.")
    reason: Text = Field(description="Why the failure is borne, such as a ticket.")
    expires: Day = Field(description="The first day (UTC) on which it waives nothing any more.")
    owner: Text | None = Field(None, description="Who answers for it.")

    def waiver(self) -> core.Waiver:
        """The waiver as a value."""
        return core.Waiver(self.rule, self.reason, self.expires, self.owner or "")


class RulesHead(Section):
    """A rules file, but for its rules, which are read one by one."""

    version: Literal[1] = Field(description="Version of the format.")
    table: Text = Field(description="The table's name in reconcile.yaml.")
    rules: Annotated[tuple[Any, ...], LAX, AfterValidator(not_empty)] = Field(description="The rules.")
    waivers: Annotated[tuple[WaiverEntry, ...], LAX] = Field((), description="Failures that somebody answers for.")


class RulesFile(RulesHead):
    """A whole rules file, for its JSON Schema."""

    rules: Annotated[tuple[Annotated[AnyRule, Field(discriminator="check")], ...], LAX, AfterValidator(not_empty)] = (
        Field(description="The rules.")
    )
