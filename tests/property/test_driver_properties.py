"""No spelling of a key that the tool keeps for itself reaches a driver or Hudi; every value of a URL arrives as it is."""

from __future__ import annotations

from urllib.parse import quote, unquote

from hypothesis import assume, given
from hypothesis import strategies as st

from hudi_reconcile.core.errors import fold, overlay_options
from hudi_reconcile.core.lake.ownership import _RESERVED, list_option_problems, override_options, select_reserved
from hudi_reconcile.core.source.jdbc import read_product
from hudi_reconcile.databases.control import pgjdbc_url
from hudi_reconcile.databases.mysql.session import jdbc_target
from hudi_reconcile.databases.registry import known_drivers
from hudi_reconcile.databases.urls import build_connection, open_engine
from hudi_reconcile.sql.connection_properties import (
    _READERS_OWN,
    merge_properties,
    option_problems,
    url_problem,
)

DRIVERS = known_drivers()
WORDS = sorted(DRIVERS)
TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\x00"), min_size=1, max_size=30)
FORBIDDEN = [
    "INIT",
    "create",
    "shutdown",
    "bootPassword",
    "RUNSTARTUP",
    "socketFactory",
    "sessionInitStatement",
    "options",
    "traceFile",
]


@st.composite
def respelled_key(draw: st.DrawFn, keys: list[str]) -> str:
    key = draw(st.sampled_from(keys))
    flips = draw(st.lists(st.booleans(), min_size=len(key), max_size=len(key)))
    return "".join(one.swapcase() if flip else one for one, flip in zip(key, flips, strict=True))


@given(word=st.sampled_from(WORDS), data=st.data(), trusted=st.booleans())
def test_own_key_in_any_case_is_refused_and_loses_where_the_check_is_passed_by(
    word: str, data: st.DataObject, *, trusted: bool
) -> None:
    driver = DRIVERS[word]
    key = data.draw(respelled_key(sorted(driver.own | _READERS_OWN)))

    assert dict(option_problems(driver, {key: "evil"}, trusted=trusted))
    assert "evil" not in merge_properties(DRIVERS[word], {}, [(key, "evil")], {}).values()


@given(
    word=st.sampled_from(WORDS),
    given_=st.dictionaries(TEXT, st.just("x")),
    ours=st.dictionaries(TEXT, st.just("o"), max_size=3),
)
def test_what_is_ours_stays_ours_and_no_two_keys_differ_by_case(
    word: str, given_: dict[str, str], ours: dict[str, str]
) -> None:
    assume(len({fold(key) for key in ours}) == len(ours))
    spelled = {key.upper(): "x" for key in ours if fold(key.upper()) == fold(key)}

    found = merge_properties(DRIVERS[word], {"fetchsize": "1"}, [*given_.items(), *spelled.items()], ours)

    assert len({fold(key) for key in found}) == len(found)
    assert {key: found[key] for key in ours} == ours


@given(st.dictionaries(TEXT, TEXT, max_size=4), st.dictionaries(TEXT, TEXT, max_size=4))
def test_overlay_keeps_all_of_ours_and_no_other_spelling(given_: dict[str, str], ours: dict[str, str]) -> None:
    found = overlay_options(given_, ours)

    assert ours.items() <= found.items()
    assert not {fold(key) for key in ours} & {fold(key) for key in set(found) - set(ours)}


@given(st.sampled_from(["h2", "derby", "duckdb", "sqlserver", "sap", "db2", "teradata"]), st.data())
def test_attribute_that_is_not_listed_is_refused_in_any_case(word: str, data: st.DataObject) -> None:
    places = {
        "h2": "/x;", "derby": "/x;", "duckdb": "/x;", "sqlserver": "//h;", "sap": "//h:1/?", "db2": "//h:1/D:",
        "teradata": "//h/",
    }  # fmt: skip
    key = data.draw(respelled_key(FORBIDDEN))
    url = f"jdbc:{word}:{places[word]}{key}=true"

    assert read_product(url) == word
    assert url_problem(url, word, trusted=False)
    assert url_problem(url, word, trusted=True) is None


@given(database=TEXT, root=TEXT)
def test_values_of_a_postgres_url_arrive_as_they_are_and_begin_no_parameter(database: str, root: str) -> None:
    url = f"postgresql+psycopg://u@h/{quote(database, safe='')}?sslmode=verify-full&sslrootcert={quote(root, safe='')}"

    found = build_connection(url, "", roots="/roots.pem")
    place, _, query = pgjdbc_url(found).partition("?")

    assert (found.database, dict(found.tls)["sslrootcert"]) == (database, root)
    assert unquote(place.rsplit("/", 1)[1]) == database
    assert query == ""
    told = open_engine(found).jdbc().properties
    assert (told["sslmode"], told["sslrootcert"]) == (
        "verify-full",
        root if root not in ("", "system") else "/roots.pem",
    )


@given(database=TEXT)
def test_database_of_a_mysql_url_arrives_as_it_is_and_begins_no_parameter(database: str) -> None:
    found = jdbc_target(build_connection(f"mysql+pymysql://u@127.0.0.1/{quote(database, safe='')}", ""))

    place, _, query = found.url.partition("?")
    assert query == "permitMysqlScheme"
    assert found.properties.get("database", place.rsplit("/", 1)[1]) == database


@given(respelled_key(sorted(_RESERVED)))
def test_hudis_option_of_ours_is_refused_in_any_case_and_loses_where_the_check_is_passed_by(key: str) -> None:
    key = f"{key}x" if key.endswith(".") else key
    ours = {key.lower(): "ours", "hoodie.x": "y"}

    assert select_reserved([key]) == [key]
    assert dict(list_option_problems([key]))
    assert override_options(ours, {key: "evil"}) == ours
