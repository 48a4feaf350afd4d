"""What protects a connection: the words for it, and the fix for what does not come about."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.source.connection import Transport, read_transport


@pytest.mark.parametrize(
    ("host", "mode", "is_encrypted", "state", "is_safe"),
    [
        ("db", "verify-full", True, "TLS, certificate verified", True),
        ("db", "verify-ca", True, "TLS, certificate verified, host name not", False),
        ("db", "require", True, "TLS, certificate not checked", False),
        ("db", None, True, "TLS, certificate not checked", False),
        ("db", None, False, "no TLS", False),
        ("db", "disable", False, "no TLS", False),
        ("127.0.0.1", None, True, "TLS, certificate not checked (this machine)", True),
        ("127.0.0.1", None, False, "no TLS (this machine)", True),
        ("127.evil.example", None, False, "no TLS", False),
    ],
)
def test_tls_is_never_said_without_who_checked_the_certificate(
    host: str, mode: str | None, state: str, *, is_encrypted: bool, is_safe: bool
) -> None:
    found = Transport(host, mode)

    assert found.state(is_encrypted=is_encrypted) == state
    assert found.is_safe is is_safe


def test_warning_is_about_what_is_in_force_and_not_about_the_key() -> None:
    def warning(host: str, **given: str) -> str:
        return read_transport(host, given, insecure=True, roots="/roots.pem").warning

    assert warning("db", sslmode="verify-full") == ""
    assert warning("localhost", sslmode="disable") == ""
    assert warning("db").startswith("TLS is not verified; nothing proves that db is the database")
    assert warning("db", sslmode="disable").startswith("no TLS; ")


@pytest.mark.parametrize(
    "reason",
    [
        "server does not support SSL, but SSL was required",
        'SSL error: certificate verify failed, server certificate for "a" does not match host name "b"',
        "Can't connect to MySQL server on 'db' ([SSL: CERTIFICATE_VERIFY_FAILED])",
    ],
)
def test_server_that_cannot_be_verified_is_told_how_it_could_be(reason: str) -> None:
    assert "sslrootcert=PATH" in Transport("db", "verify-full").advise(reason)
    assert "insecure: true" in Transport("db", "verify-full").advise(reason)
    assert Transport("db", "verify-full").advise("Connection refused") == ""
    assert "remove insecure" in Transport("db", None).advise("server requested a cleartext password")
