"""What a rule's query may reach, by a real Spark session that has everything to steal: environment, files, tables, functions."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.rules.java_regex import find_regex_fault
from hudi_reconcile.core.rules.rules import Check, Gx, Rule, Sql, ValueRange
from hudi_reconcile.core.rules.verdict import Measured
from hudi_reconcile.ports import Frame
from hudi_reconcile.rules.engine import SparkRules
from hudi_reconcile.rules.reach import OutOfReachError, refuse_reach
from hudi_reconcile.spark.evidence_files import SparkFiles
from tests.support.rule_queries import (
    LEGAL,
    LEGAL_EXPECTATIONS,
    REFUSED_EXPECTATIONS,
    SEEN_AT_LOAD,
    SEEN_BY_SPARK,
    VARIABLES,
)

CANARY = "CANARY-5b1f"
# Great Expectations calls conditions in Spark's SQL an old way of writing them.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@dataclass(frozen=True, slots=True)
class Place:
    """The rows that rules judge, and what they must not reach."""

    rows: DataFrame
    folder: Path

    def query(self, text: str) -> str:
        """The query with the file and the environment of this place."""
        path = os.environ["PATH"].replace("\\", "").replace("'", "")
        return (
            text.replace("SECRET_FILE", str(self.folder / "secret"))
            .replace("CANARY_ENV", "PATH")
            .replace("= 'x'", f"= '{path}'")
        )

    def counted(self, *checks: Check) -> list[Measured]:
        """What the engine says of each check."""
        rules = tuple(Rule(f"r{number}", check) for number, check in enumerate(checks))
        found = SparkRules(SparkFiles(self.rows.sparkSession)).measure(Frame(self.rows), rules)
        return [found[rule.id] for rule in rules]


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("reach")
    (folder / "secret").write_text(f"{CANARY}\n")
    spark.range(3).createOrReplaceTempView("other")
    spark.udf.register("canary_udf", lambda: CANARY)
    columns = ("id", "cast(id as string) v", "array(id) a", "timestamp'2026-01-01' ts", "'{}' j")
    yield Place(spark.range(4).selectExpr(*columns), folder)
    spark.catalog.dropTempView("other")
    spark.sql("DROP TEMPORARY FUNCTION IF EXISTS canary_udf")


def test_no_query_reaches_the_environment_a_file_another_table_or_foreign_code(place: Place) -> None:
    refused = [Sql(place.query(text)) for text in (*SEEN_AT_LOAD, *SEEN_BY_SPARK)]

    found = place.counted(*refused)

    assert [check.query for check, one in zip(refused, found, strict=True) if not one.problem] == []
    assert [one.problem for one in found if CANARY in one.problem or os.environ["PATH"] in one.problem] == []
    assert not Path("gone").exists()


def test_no_expectation_carries_such_a_query(place: Place) -> None:
    expectations = [(kind, kwargs) for kind, kwargs in REFUSED_EXPECTATIONS if "${" not in str(kwargs)]

    found = place.counted(*(Gx(kind, kwargs) for kind, kwargs in expectations))

    assert [kwargs for (_, kwargs), one in zip(expectations, found, strict=True) if not one.problem] == []


def test_refused_query_is_not_even_analysed_which_would_evaluate_parts_of_it(place: Place) -> None:
    # Spark evaluates VALUES, LIMIT and the arguments of range as it analyses them.
    call = f"reflect('java.lang.System', 'setProperty', 'hr.canary', '{CANARY}')"
    queries = (f"SELECT * FROM {{batch}} JOIN (VALUES ({call})) t", f"SELECT * FROM {{batch}} LIMIT length({call})",
               f"SELECT * FROM {{batch}}, range(length({call}))", f"SELECT * FROM {{batch}}, IDENTIFIER({call})")  # fmt: skip

    assert all(one.problem for one in place.counted(*map(Sql, queries)))
    jvm = place.rows.sparkSession._jvm
    assert jvm is not None
    assert jvm.java.lang.System.getProperty("hr.canary") is None


def test_function_that_took_the_name_of_one_of_sparks_is_refused(spark: SparkSession) -> None:
    apart = spark.newSession()
    rows = apart.range(1).selectExpr("id", "'x' v")
    refuse_reach(rows, "SELECT soundex(v) FROM _hr_batch")
    apart.udf.register("soundex", lambda _: CANARY)

    with pytest.raises(OutOfReachError, match="the query uses PythonUDF"):
        refuse_reach(rows, "SELECT soundex(v) FROM _hr_batch")


def test_variables_of_spark_stay_text_in_queries_conditions_and_values(place: Place) -> None:
    conditions = Gx("expect_table_row_count_to_equal", {
        "value": 0, "condition_parser": "spark", "row_condition": "'${env:PATH}' LIKE '%/%'"})  # fmt: skip
    named = Place(place.rows.select(F.lit("${env:PATH}").alias("s")), place.folder)

    queries = place.counted(
        *(Sql(text.replace("CANARY_ENV", "PATH").replace("CANARY%", "%/%")) for text in VARIABLES), conditions
    )
    (between,) = named.counted(ValueRange("s", "${env:PATH}", "${env:PATH}"))

    assert [(one.problem, one.failed_rows) for one in (*queries, between)] == [("", 0)] * (len(VARIABLES) + 2)
    assert place.rows.sparkSession.conf.get("spark.sql.runSQLOnFiles") == "true"


def test_queries_of_the_batch_and_expectations_on_it_are_legal(place: Place) -> None:
    for text in LEGAL:
        refuse_reach(place.rows, text.replace("{batch}", "_hr_batch").rstrip(";"))

    found = place.counted(Sql(LEGAL[0]), *(Gx(kind, kwargs) for kind, kwargs in LEGAL_EXPECTATIONS[:4]))
    assert [one.problem for one in found if one.problem] == []


PIECES = (
    "a", "(", "(?:", "(?<x>", "(?<x_y>", "(?P<y>", ")", "[", "]", "[^", "*", "+", "?", "{2}", "{2,1}", "{,3}", "{", "}", "|",
    r"\d", r"\g", r"\k<x>", r"\pL", r"\u0041", r"\u{41}", r"\x{41}", "^", ".", "\\", "(?i)", "(?L)", "(?#c)", "(?=", "(?<=",
    "&&", "-", r"\1", "??", "*+", "(?i-)", r"\0", r"\07", r"\cA", "(?ix:",
    "z-a", "[^-9]", "[a-z", "9", r"\-", r"\p{Foo}", r"\P{Lu}", r"\p{IsLatin}", "{99999999999}", "{2147483647}",
    "[]", "[^]", r"\x7a", r"\n", "\n", r"\b", r"\E", r"\N{FOO}", r"\N{DIGIT ONE}", r"\x{110000}",
    r"\uD83D", r"\0101", r"\p{gc=Xx}",
)  # fmt: skip


WRONG = (
    *("[z-a]", "[^9-0]", "[a&&b", r"\p{Foo}", r"[\P{letters}]", r"\pQ", "x{99999999999}", "x{1,2147483648}"),
    *(
        r"[\x7a-\x61]",
        "[z-\n]",
        r"[z-\n]",
        r"[\x{7a}-a]",
        r"[\u007a-\u0061]",
        r"[\071-0]",
        r"[a-\d]",
        r"[a-\p{L}]",
        r"[\\-A]",
    ),
    *(rf"[\{letter}]" for letter in "bkzABEGRXZ19"),
    *(r"\x{110000}", r"a\Eb", r"\p{gc=Xx}", r"\p{x=y}", r"\p{javaFoo}", r"\N{FOO}", "[]", "a[^]b"),
)
RIGHT = (
    "[a&&[^b]]",
    "[^-9]",
    "[a-]",
    "[-a]",
    "[a-z-9]",
    *(r"[\060-9]", r"[\t-\n]", r"[\x61-\x{7a}]", r"[\u0061-z]", r"[\d-z]", r"[a\-z]", r"[\a-\f]", r"[\W-a]", "[a-[b]]"),
    *(
        "[]a]",
        "[^]a]",
        r"\Q[]\E",
        r"\N{DIGIT ONE}",
        r"\N{CJK UNIFIED IDEOGRAPHS 4E00}",
        r"\p{gc=Lu}",
        r"\p{javaMirrored}",
        r"\8",
    ),
    r"[\--a]",
    r"\p{IsLatin}",
    r"\p{javaLowerCase}",
    r"\p{sc=Greek}",
    r"\pL",
    "x{0}",
    r"a\b{g}b",
)


def test_regex_whose_classes_properties_and_counts_java_knows_is_told_from_one_that_it_takes_not(
    spark: SparkSession,
) -> None:
    pattern: Any = spark._jvm.java.util.regex.Pattern  # type: ignore[union-attr]

    assert [text for text in WRONG if not find_regex_fault(text)] == []
    assert [pattern.compile(text).pattern() for text in RIGHT if not find_regex_fault(text)] == [*RIGHT]


def test_regex_that_lint_calls_wrong_is_one_that_java_takes_not(spark: SparkSession) -> None:
    pattern: Any = spark._jvm.java.util.regex.Pattern  # type: ignore[union-attr]
    chosen = random.Random(24)  # noqa: S311 - the same in each run
    texts = {"".join(chosen.choices(PIECES, k=chosen.randint(1, 6))) for _ in range(3_000)} | {*WRONG}
    wrong = [text for text in texts if find_regex_fault(text)]

    assert len(wrong) > 500
    for text in wrong:
        with pytest.raises((Py4JJavaError, PySparkException)):
            pattern.compile(text)
