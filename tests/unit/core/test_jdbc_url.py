from __future__ import annotations

import pytest

from hudi_reconcile.core.source.jdbc import is_jdbc, read_product, redact_secrets, strip_url


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("jdbc:h2:/data/shop;USER=sa;PASSWORD=geheim", "jdbc:h2:/data/shop"),
        ("jdbc:h2:tcp://host:9092/shop;PASSWORD=geheim", "jdbc:h2:tcp://host:9092/shop"),
        ("jdbc:derby:/data/shop;user=u;password=geheim;create=true", "jdbc:derby:/data/shop"),
        ("jdbc:duckdb:/data/shop.db", "jdbc:duckdb:/data/shop.db"),
        ("jdbc:sap://host:39015/?databaseName=SHOP&user=u&password=geheim", "jdbc:sap://host:39015"),
        ("jdbc:sap://u:geheim@host:39015/", "jdbc:sap://host:39015"),
        ("jdbc:tibero:thin:u/geheim@host:8629:tibero", "jdbc:tibero:host:8629:tibero"),
        ("jdbc:tibero:thin:@host:8629:tibero", "jdbc:tibero:host:8629:tibero"),
        ("jdbc:teradata://host/DATABASE=shop,USER=u,PASSWORD=geheim", "jdbc:teradata://host"),
        ("jdbc:db2://host:50000/shop:user=u;password=geheim;", "jdbc:db2://host:50000/shop"),
        ("jdbc:db2://host:50000/shop:currentSchema=A;password=geheim;", "jdbc:db2://host:50000/shop"),
        ("jdbc:foo://u:ge@heim@host/db", "jdbc:foo://host/db"),
        ("jdbc:foo:geheim=geheim", "jdbc:foo"),
    ],
)
def test_place_of_a_url_holds_no_login_and_no_setting(url: str, place: str) -> None:
    assert strip_url(url) == place


def test_product_is_the_drivers_word_in_lower_case() -> None:
    assert (read_product("JDBC:H2:mem:x"), read_product("jdbc:sap://host"), is_jdbc("JDBC:H2:mem:x")) == (
        "h2",
        "sap",
        True,
    )
    assert not is_jdbc("postgresql://host/db")


@pytest.mark.parametrize(
    "message",
    [
        "No suitable driver for jdbc:x://u:geheim@host/db?password=geheim",
        "login failed for u with geheim",
        "bad option Password = geheim; next",
        "user=u&pwd=geheim&x=1",
    ],
)
def test_drivers_message_loses_the_password_wherever_it_stands(message: str) -> None:
    url = "jdbc:x://u:geheim@host/db?password=geheim"

    shown = redact_secrets(message, url, "geheim")

    assert "geheim" not in shown
    assert shown[:3] == message[:3]
