from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.spark.jvm import JvmOutput, explain_exit, refuse_nameless, submit_arguments

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


def test_settings_go_by_a_file_of_their_owner_behind_the_defaults_that_spark_submit_would_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.a from-defaults\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)

    arguments = submit_arguments(tmp_path / "settings", {"spark.b": "secret"})

    assert arguments == f"--properties-file {tmp_path / 'settings'} pyspark-shell"
    assert (tmp_path / "settings").read_text().split() == ["spark.a", "from-defaults", "spark.b=secret"]
    assert stat.S_IMODE((tmp_path / "settings").stat().st_mode) == 0o600


def test_users_own_properties_file_goes_before_ours_and_his_other_arguments_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").write_text("spark.a mine\n")
    own = f"--conf spark.c=1 --properties-file {tmp_path / 'mine'} pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", own)

    arguments = submit_arguments(tmp_path / "settings", {"spark.a": "ours"})

    assert arguments == f"--properties-file {tmp_path / 'settings'} --conf spark.c=1 pyspark-shell"
    assert (tmp_path / "settings").read_text().split() == ["spark.a", "mine", "spark.a=ours"]


def test_user_id_without_an_account_is_refused_with_the_line_that_gives_it_one() -> None:
    refuse_nameless(os.geteuid(), lambda _: object())

    with pytest.raises(UsageError, match="user id 12345 has no account") as refused:
        refuse_nameless(12345, dict[int, object]().__getitem__)

    assert "job:x:12345:12345:" in refused.value.fix
