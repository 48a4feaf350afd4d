from __future__ import annotations

import os

import pytest

from hudi_reconcile.spark.gateway import JvmOutput, explain_exit

IVY = """:: problems summary ::
:::: WARNINGS
        module not found: org.postgresql#postgresql;42.7.999
    ==== central: tried
      https://joe:secret@mirror.example/maven2/org/postgresql/postgresql-42.7.999.pom
Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: org.postgresql#postgresql;42.7.999]
    at org.apache.spark.deploy.SparkSubmitUtils$.resolveMavenCoordinates(SparkSubmit.scala:1610)
"""


def test_jvm_that_ended_over_a_package_names_coordinate_mirror_settings_and_fetch() -> None:
    error = explain_exit(IVY, "org.postgresql:postgresql:42.7.999")

    assert error.message.startswith("Spark's resolver could not fetch org.postgresql:postgresql:42.7.999")
    assert "unresolved dependency" in error.message
    for word in ("DEFAULT_ARTIFACT_REPOSITORY", "spark.jars.ivySettings", "jars fetch"):
        assert word in error.fix


def test_jvm_that_ended_for_another_reason_shows_its_own_words_and_blames_no_resolver() -> None:
    error = explain_exit(
        "Invalid maximum heap size: -Xmx9000g\nError: Could not create the Java Virtual Machine.\n", None
    )

    assert "Invalid maximum heap size" in error.message
    assert "resolver" not in error.message
    assert "DEFAULT_ARTIFACT_REPOSITORY" not in error.fix


def test_jvm_that_ended_without_a_word_says_so() -> None:
    assert "printed nothing" in explain_exit("", None).message


def test_credentials_in_a_mirrors_address_are_not_shown() -> None:
    error = explain_exit("ERROR: unresolved dependency at https://joe:secret@mirror.example/maven2\n", "a:b:1")

    assert "secret" not in error.message
    assert "//***@mirror.example" in error.message


def test_output_after_the_start_goes_to_stderr_without_known_noise_and_is_kept_whole(
    capfd: pytest.CaptureFixture[str],
) -> None:
    read_end, write_end = os.pipe()
    output = JvmOutput(read_end)
    output.pass_on()
    with os.fdopen(write_end, "w") as jvm:
        jvm.write("# WARNING: Unable to get Instrumentation. Dynamic Attach failed.\n# WARNING: disk full\n")

    tail = output.tail()

    assert capfd.readouterr().err == "# WARNING: disk full\n"
    assert "Instrumentation" in tail
