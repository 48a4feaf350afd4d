"""What a log holds of an exception: places and classes, and no word that may quote a row."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkTypeError

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.safe_text import describe_trace, extract_places


class Py4JLikeError(Exception):
    """Its text is Java's."""


JAVA = """An error occurred while calling o7.count.
: org.apache.spark.SparkException: Job aborted: geheim
\tat org.apache.spark.Dag$.abort(Dag.scala:12)
Caused by: java.lang.RuntimeException: geheim
Row: [geheim]
\tat a.b.C$.<init>(Unknown Source)
"""


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause  # noqa: TRY301 - it is to have a traceback
    except BaseException as caught:  # noqa: BLE001 - looked at
        return caught


@pytest.mark.parametrize(
    "error",
    [
        Py4JLikeError(JAVA),
        ValueError("invalid literal for int() with base 10: 'geheim'"),
        KeyError("geheim"),
        PySparkTypeError("got geheim"),
    ],
)
def test_exception_is_told_by_place_and_class_and_without_its_words(error: BaseException) -> None:
    said = describe_trace(raised(LakeError("the lake is gone", fix="x"), raised(error)))

    assert "geheim" not in said
    assert f"{type(error).__qualname__}\n" in said
    assert said.endswith("LakeError: the lake is gone\n")
    assert said.count("test_traces.py") == 2


def test_places_of_java_and_its_causes_are_kept() -> None:
    assert extract_places(JAVA).splitlines() == [
        "\tat org.apache.spark.Dag$.abort(Dag.scala:12)",
        "Caused by: java.lang.RuntimeException",
        "\tat a.b.C$.<init>(Unknown Source)",
    ]


@pytest.mark.parametrize("error", [TypeError("takes 1 argument"), FileNotFoundError(2, "No such file", "/x")])
def test_what_says_something_of_code_or_files_keeps_its_words(error: Exception) -> None:
    assert str(error) in describe_trace(raised(error))
