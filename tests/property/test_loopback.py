"""What counts as this machine: an address or one name, whatever surrounds it."""

from __future__ import annotations

from ipaddress import ip_address

from hypothesis import assume, given
from hypothesis import strategies as st

from hudi_reconcile.core.source.connection import is_loopback
from hudi_reconcile.core.source.jdbc import JdbcTls, read_jdbc_tls

NAMES = st.from_regex(r"[a-z0-9-]{0,8}(\.[a-z0-9-]{1,8}){0,3}\.?", fullmatch=True)
NEAR = st.sampled_from(["localhost", "127.0.0.1", "127.", "127.1", "::1", "LOCALHOST"])


@given(st.ip_addresses())
def test_address_is_this_machine_by_its_network_alone(address: object) -> None:
    text = str(address)

    assert is_loopback(text) == (text.startswith("127.") or text == "::1")
    assert is_loopback(f"[{text}]") == is_loopback(text)


@given(st.integers(0, 2**24 - 1))
def test_every_address_of_127_is_this_machine_and_its_mapped_form_is_not(rest: int) -> None:
    address = str(ip_address((127 << 24) + rest))

    assert is_loopback(address)
    assert not is_loopback(f"::ffff:{address}")


@given(near=NEAR, rest=NAMES, first=st.booleans())
def test_name_that_begins_or_ends_like_this_machine_is_another(near: str, rest: str, *, first: bool) -> None:
    name = near + rest if first else rest + near
    assume(name.lower() not in ("localhost", "127.0.0.1", "::1"))
    try:
        address = str(ip_address(name))
    except ValueError:
        address = "a name"
    assert is_loopback(name) == (address.startswith("127.") or address == "::1")


@given(st.text())
def test_any_text_is_judged_without_an_error(text: str) -> None:
    assert is_loopback(text) in (True, False)
    assert read_jdbc_tls(f"jdbc:sap://{text}", {"encrypt": text}) in JdbcTls


@given(NAMES.filter(lambda name: name.strip(".") and name.lower() != "localhost"))
def test_jdbc_url_with_any_host_elsewhere_is_never_this_machine(name: str) -> None:
    assume(not is_loopback(name))
    for url in (
        f"jdbc:sap://{name}:39015/",
        f"jdbc:sap://localhost:39015;{name}:39015/",
        f"jdbc:db2://localhost,{name}:50000/SHOP",
        f"jdbc:tibero:thin:@{name}:8629:tibero",
        f"jdbc:oracle:thin:@//{name}:1521/shop",
        f"jdbc:h2:tcp://{name}/shop",
        f"jdbc:derby://{name}/shop",
    ):
        assert read_jdbc_tls(url, {}) is JdbcTls.UNKNOWN, url
