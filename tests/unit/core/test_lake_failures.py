"""What a Java error of a lake write means, and which of its words are shown."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.lake.failures import (
    JavaCause,
    describe_causes,
    is_lock_failure,
    is_lock_taken,
    is_lost_race,
)

_EXCEPTION = "org.apache.hudi.exception."
OUTER = JavaCause(f"{_EXCEPTION}HoodieException", "Unable to instantiate class")
TAKEN = JavaCause(f"{_EXCEPTION}HoodieLockException", "Unable to acquire the lock. Current lock owner information : x")
SCHEME = JavaCause(f"{_EXCEPTION}HoodieLockException", "Unsupported scheme :s3a, since this fs can not support atomic")
AMAZON = JavaCause("com.amazonaws.AmazonServiceException", "row 4711 of Jane Doe")


@pytest.mark.parametrize(
    "chain", [[OUTER, TAKEN], [OUTER, SCHEME, JavaCause("java.nio.file.FileAlreadyExistsException")]]
)
def test_lock_that_another_writer_holds_is_a_lost_race_and_no_failure_of_its_provider(chain: list[JavaCause]) -> None:
    assert (is_lock_taken(chain), is_lost_race(chain), is_lock_failure(chain, "P")) == (True, True, False)


@pytest.mark.parametrize(
    "chain", [[OUTER, SCHEME], [TAKEN, AMAZON], [JavaCause("x.ClassNotFoundException", "a.Provider")]]
)
def test_lock_that_cannot_work_is_its_providers_failure_and_no_lost_race(chain: list[JavaCause]) -> None:
    assert (is_lock_taken(chain), is_lost_race(chain), is_lock_failure(chain, "a.Provider")) == (False, False, True)


def test_conflict_of_files_is_a_lost_race() -> None:
    assert is_lost_race([JavaCause(f"{_EXCEPTION}HoodieWriteConflictException")])


def test_error_of_no_lock_is_neither() -> None:
    assert not is_lost_race([OUTER])
    assert not is_lock_failure([OUTER], "")


def test_messages_of_hudi_are_shown_after_the_names_each_once() -> None:
    repeated = JavaCause(f"{_EXCEPTION}HoodieException", f"{SCHEME.full_name}: {SCHEME.message}")

    assert describe_causes([repeated, SCHEME]) == (
        f"HoodieException <- HoodieLockException: {SCHEME.full_name}: {SCHEME.message}"
    )


@pytest.mark.parametrize(
    "cause",
    [
        AMAZON,
        JavaCause(f"{_EXCEPTION}HoodieKeyException", 'recordKey value: "Jane Doe" for field'),
        JavaCause(f"{_EXCEPTION}HoodieUpsertException", "Failed to merge old record Jane Doe"),
    ],
)
def test_message_that_may_hold_a_rows_value_is_not_shown_nor_where_another_repeats_it(cause: JavaCause) -> None:
    wrapper = JavaCause(f"{_EXCEPTION}HoodieException", cause.message)

    assert "Jane" not in describe_causes([wrapper, cause])


def test_secret_in_a_message_is_masked_and_only_its_first_line_stands() -> None:
    said = JavaCause(f"{_EXCEPTION}HoodieIOException", "no store with fs.s3a.secret.key=SESAME, region=eu\nsecond")

    assert describe_causes([said]) == "HoodieIOException: no store with fs.s3a.secret.key=***, region=eu"
