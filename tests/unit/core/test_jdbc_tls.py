"""What a jdbc: URL says of TLS, in each vendor's words."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.source.jdbc import JdbcTls, list_unchecked_settings, read_jdbc_tls


@pytest.mark.parametrize(
    ("url", "options", "said"),
    [
        ("jdbc:sap://hana:39015/?encrypt=true&validateCertificate=true", {}, JdbcTls.VERIFIED),
        ("jdbc:sap://hana:39015/", {"ENCRYPT": "true", "validatecertificate": "TRUE"}, JdbcTls.VERIFIED),
        ("jdbc:sap://hana:39015/?encrypt=true", {}, JdbcTls.UNKNOWN),
        ("jdbc:sap://hana/?encrypt=true&validateCertificate=true", {"validateCertificate": "false"}, JdbcTls.UNCHECKED),
        ("jdbc:sqlserver://db;encrypt=true;trustServerCertificate=false", {}, JdbcTls.VERIFIED),
        ("jdbc:sqlserver://db;encrypt=true;trustServerCertificate=true", {}, JdbcTls.UNCHECKED),
        ("jdbc:sqlserver://db;encrypt=true", {"TrustServerCertificate": "true"}, JdbcTls.UNCHECKED),
        ("jdbc:db2://db:50000/SHOP:sslConnection=true;sslClientHostnameValidation=BASIC;", {}, JdbcTls.VERIFIED),
        ("jdbc:db2://db:50000/SHOP:sslConnection=true;", {}, JdbcTls.UNKNOWN),
        ("jdbc:teradata://db/DATABASE=shop,SSLMODE=VERIFY-FULL", {}, JdbcTls.VERIFIED),
        ("jdbc:teradata://db/DATABASE=shop,SSLMODE=REQUIRE", {}, JdbcTls.UNCHECKED),
        ("jdbc:teradata://db/SSLMODE=VERIFY-FULL,SSLMODE=PREFER", {}, JdbcTls.UNCHECKED),
        ("jdbc:oracle:thin:@tcps://db:2484/shop", {"oracle.net.ssl_server_dn_match": "false"}, JdbcTls.UNCHECKED),
        ("jdbc:tibero:thin:@db:8629:tibero", {}, JdbcTls.UNKNOWN),
        ("jdbc:tibero:thin:@127.0.0.1:8629:tibero", {}, JdbcTls.LOCAL),
        ("jdbc:sap://localhost:39015/?databaseName=X", {}, JdbcTls.LOCAL),
        ("jdbc:sap://localhost.evil.example:39015/", {}, JdbcTls.UNKNOWN),
        ("jdbc:h2:/data/shop;MODE=LEGACY", {}, JdbcTls.LOCAL),
        ("jdbc:h2:ssl://db/shop", {}, JdbcTls.UNKNOWN),
        ("jdbc:duckdb:md:shop", {}, JdbcTls.UNKNOWN),
        ("jdbc:derby:/data/shop", {}, JdbcTls.LOCAL),
    ],
)
def test_jdbc_url_is_told_by_its_vendors_words_and_never_guessed(
    url: str, options: dict[str, str], said: JdbcTls
) -> None:
    assert read_jdbc_tls(url, options) is said


def test_settings_that_leave_a_server_unchecked_are_named() -> None:
    url = "jdbc:sqlserver://db;encrypt=false;trustServerCertificate=true"

    assert list_unchecked_settings(url, {}) == ("encrypt", "trustservercertificate")
