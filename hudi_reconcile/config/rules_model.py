"""What a rules file may say: one section for each kind of check, waivers, and the query of a `sql` rule. Reads no file.

Decides within one entry. Spark has the last word on a query; here it is refused with file and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from hudi_reconcile.config.fields import (
    LAX,
    SHARE_PATTERN,
    Duration,
    Finding,
    Raw,
    Section,
    SomeNames,
    Text,
    exact_number,
    parse_share,
    refuse_empty,
    refuse_rounding,
)
from hudi_reconcile.config.tables import folder_name
from hudi_reconcile.core.rules import rules
from hudi_reconcile.core.rules.reach import (
    ARGUMENTS,
    BATCH,
    EXPECTATIONS,
    FORBIDDEN,
    OTHER_TABLES,
    RULE,
    TABLE_FUNCTIONS,
    find_reach_fault,
    list_queries,
)
from hudi_reconcile.core.rules.rules import Allow, Check, Gx, Severity, Sql
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

    DriftKind = str
else:
    DriftKind = Literal[DRIFT_KINDS]


_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


def _allow(value: object) -> object:
    if isinstance(value, Allow):
        return value
    if type(value) is int and value >= 0:
        return Allow(value)
    if isinstance(value, str):
        return Allow(share=parse_share(value))
    if isinstance(value, float) and 0 < (share := exact_number(value)) < 1:  # every digit of it, as the file has them
        return Allow(share=share)
    raise ValueError("must be a count of rows (5) or a share of them (0.1%)")


def _number(value: object) -> object:
    """Numbers as exact decimals, texts as they are."""
    return exact_number(value) if isinstance(value, float) else value


def _scalar(value: object) -> object:
    scalar = _number(value)
    if not isinstance(scalar, str | int | Decimal):
        raise ValueError("must be a number, a text or true or false")
    return scalar


def _end(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number, a date, a time or a text")
    return None if value is None else _scalar(value)


def _tolerance(value: object) -> object:
    tolerance = Decimal(value) if type(value) is int else _number(value)
    if not isinstance(tolerance, Decimal) or tolerance < 0:
        raise ValueError("must be a number from 0 up")
    return tolerance


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
    tuple[Annotated[Any, BeforeValidator(_scalar), WithJsonSchema(_SCALAR_SCHEMA)], ...],
    LAX,
    AfterValidator(refuse_empty),
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

    def build_check(self) -> rules.Check:
        """The check as a value."""
        raise NotImplementedError

    def rule(self) -> rules.Rule:
        """The rule as a value."""
        allow = getattr(self, "allow", Allow())
        quarantine = getattr(self, "quarantine", False)
        return rules.Rule(self.id, self.build_check(), self.severity, allow, quarantine=quarantine, why=self.why or "")


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

    def build_check(self) -> rules.Check:
        """The check."""
        return rules.NotNull(self.column)


class UniqueRule(RowRule):
    """`unique`: no two rows hold the same values; rows with a NULL among them are left out."""

    check: Literal["unique"]
    columns: SomeNames

    def build_check(self) -> rules.Check:
        """The check."""
        return rules.Unique(self.columns)


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

    def build_check(self) -> rules.Check:
        """The check."""
        return rules.ValueRange(self.column, self.min, self.max)


class InSetRule(BatchRule):
    """`in_set`: values are among these. NULLs are left out."""

    check: Literal["in_set"]
    column: Text
    values: Values

    def build_check(self) -> rules.Check:
        """The check."""
        return rules.InSet(self.column, self.values)


class MatchesRule(BatchRule):
    """`matches`: the text holds a match of the regular expression. NULLs are left out."""

    check: Literal["matches"]
    column: Text
    regex: Text

    def build_check(self) -> rules.Check:
        """The check."""
        return rules.Matches(self.column, self.regex)


class SqlRule(RowRule):
    """`sql`: a Spark SELECT over {batch} that returns the rows that are wrong; with the key columns they are named."""

    check: Literal["sql"]
    query: Annotated[Text, AfterValidator(require_batch)]

    def build_check(self) -> rules.Check:
        """The check."""
        return rules.Sql(self.query)


class GxRule(RowRule):
    """`gx`: an expectation of Great Expectations that reads the batch only."""

    check: Literal["gx"]
    type: Text
    kwargs: Annotated[dict[Text, Any], BeforeValidator(_arguments)] = Field({}, description="Its keyword arguments.")

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """What it hands to Spark reads the batch only, as far as the text shows it."""
        try:
            refuse_reach(rules.Gx(str(raw.get("type")), raw.section("kwargs").values))
        except ValueError as error:
            yield ("kwargs",), str(error)

    def build_check(self) -> rules.Check:
        """The check."""
        return rules.Gx(self.type, self.kwargs)


class DriftRule(RowRule):
    """`drift`: the newest sweep found no drift of these kinds."""

    check: Literal["drift"]
    kinds: Annotated[tuple[DriftKind, ...], LAX, AfterValidator(refuse_empty)] = DRIFT_KINDS
    max_age: Duration | None = None

    def build_check(self) -> rules.Check:
        """The check."""
        return rules.Drift(tuple(dict.fromkeys(self.kinds)), self.max_age)


class TotalRule(RuleEntry):
    """`total`: the column's sum in the source and in the lake."""

    check: Literal["total"]
    column: Text
    tolerance: ToleranceField = Decimal(0)

    def build_check(self) -> rules.Check:
        """The check."""
        return rules.Total(self.column, self.tolerance)


class FreshnessRule(RuleEntry):
    """`freshness`: the greatest watermark pulled so far is no older than this."""

    check: Literal["freshness"]
    max_age: Duration

    def build_check(self) -> rules.Check:
        """The check."""
        return rules.Freshness(self.max_age)


AnyRule = (
    NotNullRule | UniqueRule | BetweenRule | InSetRule | MatchesRule | SqlRule | GxRule | DriftRule | TotalRule
    | FreshnessRule
)  # fmt: skip
RULES: dict[str, type[RuleEntry]] = {
    get_args(entry.model_fields["check"].annotation)[0]: entry for entry in get_args(AnyRule)
}


class WaiverEntry(Section):
    """A failure that somebody answers for until a day."""

    rule: Text = Field(description="The rule's id.")
    reason: Text = Field(description="Why the failure is borne, such as a ticket.")
    expires: Day = Field(description="The first day (UTC) on which it waives nothing any more.")
    owner: Text | None = Field(None, description="Who answers for it.")

    def waiver(self) -> rules.Waiver:
        """The waiver as a value."""
        return rules.Waiver(self.rule, self.reason, self.expires, self.owner or "")


class RulesHead(Section):
    """A rules file, but for its rules, which are read one by one."""

    version: Literal[1] = Field(description="Version of the format.")
    table: Text = Field(description="The table's name in reconcile.yaml.")
    rules: Annotated[tuple[Any, ...], LAX, AfterValidator(refuse_empty)] = Field(description="The rules.")
    waivers: Annotated[tuple[WaiverEntry, ...], LAX] = Field((), description="Failures that somebody answers for.")


class RulesFile(RulesHead):
    """A whole rules file, for its JSON Schema."""

    rules: Annotated[
        tuple[Annotated[AnyRule, Field(discriminator="check")], ...], LAX, AfterValidator(refuse_empty)
    ] = Field(description="The rules.")


_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_FIRST_WORD = re.compile(r"[\s(]*([A-Za-z]+)")
_SELECTS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE"})
_VARIABLE = re.compile(r"\$\{(?:\w+?:)?\S+?\}")  # as Spark finds them: ConfigReader.REF_RE


def require_batch(query: str) -> str:
    """The query. Raises ValueError for one that is none, that does not ask `{batch}`, or that asks anything else."""
    first = _FIRST_WORD.match(_COMMENTS.sub(" ", query))
    if first is None or first.group(1).upper() not in _SELECTS:
        raise ValueError("no query: it begins with SELECT, WITH, FROM, VALUES or TABLE; a rule changes nothing")
    if "{batch}" not in query:
        raise ValueError("must select from {batch}, which stands for the table's rows")
    refuse_reach(Sql(query))
    return query


def refuse_reach(check: Check) -> None:
    """Raise ValueError for a check that, as far as its text shows it, reads anything but the batch.

    What this reader of SQL does not understand is left to Spark, which judges each query before it runs.
    """
    if isinstance(check, Gx) and _is_known(check) and (why := find_reach_fault(check.type, check.kwargs)):
        raise ValueError(why)
    for query in list_queries(check):
        if _VARIABLE.search(query):
            raise ValueError(
                "${...} is a variable of Spark, which may hold what the environment holds: write the value itself"
            )
        if why := _find_foreign_read(query):
            raise ValueError(f"{why}: {RULE}")


def is_judged(check: Check) -> bool:
    """Whether the text of every query of a check shows what it reads; else only Spark can tell, before it runs it."""
    return all(_parse(query) is not None for query in list_queries(check))


# --- helpers ---


def _is_known(check: Gx) -> bool:
    """True where the words are Great Expectations' own; of others it tells itself, with the nearest that is."""
    return check.type in OTHER_TABLES or (check.type in EXPECTATIONS and ARGUMENTS.issuperset(check.kwargs))


def _find_foreign_read(query: str) -> str | None:
    trees = _parse(query) or []
    if len(trees) > 1:
        return "it is more than one statement"
    return next((why for tree in trees for why in (_other_table(tree), _forbidden_call(tree)) if why), None)


def _parse(query: str) -> list[Expr] | None:
    """The statements of a query; None for one that only Spark can read."""
    from sqlglot import parse, tokenize  # noqa: PLC0415 - takes a while to load, and files without SQL need none of it

    from hudi_reconcile.sql.user_sql import UNREAD, is_nested_deep  # noqa: PLC0415 - as above

    try:
        if is_nested_deep(tokenize(query, read="spark")):
            return None
        return [tree for tree in parse(query, read="spark") if tree is not None]
    except UNREAD:
        return None


def _other_table(tree: Expr) -> str | None:
    from sqlglot import exp  # noqa: PLC0415 - as above

    named = {BATCH, *(str(cte.alias).lower() for cte in tree.find_all(exp.CTE))}
    for table in tree.find_all(exp.Table):
        what = table.this
        if table.find_ancestor(exp.Hint):
            continue  # the name of a table of the query
        if isinstance(what, exp.Identifier) and (table.db or table.name.lower() not in named):
            return f"it reads {'.'.join(part.name for part in table.parts)}"
        if isinstance(what, exp.Anonymous) and what.name.lower() not in TABLE_FUNCTIONS:
            return f"it reads {what.name}(...)"
    return None


def _forbidden_call(tree: Expr) -> str | None:
    from sqlglot import exp  # noqa: PLC0415 - as above

    for call in tree.find_all(exp.Func):
        name = (call.name if isinstance(call, exp.Anonymous) else call.sql_name()).lower()
        if name in FORBIDDEN:
            return f"it calls {name}, which {FORBIDDEN[name]}"
    return None
