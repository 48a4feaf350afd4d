"""What a config may tell a JDBC driver: driver classes, URLs and keys by allow-list. Pure; no message repeats a value.

A driver's settings can run SQL at connect, load classes, write files, reach other hosts or make a new database, so what is
not listed is refused. `source.trust_properties` lifts the lists, but never gives away a key that the tool sets itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from hudi_reconcile.core.errors import find_nearest_name, find_respelled, fold, overlay_options


@dataclass(frozen=True, slots=True)
class ValueShape:
    """What a value may look like, in full, and the words for it."""

    pattern: str
    expected: str

    def fits(self, value: str) -> bool:
        """Whether it is such a value."""
        return re.fullmatch(self.pattern, value, re.ASCII | re.IGNORECASE) is not None


COUNT: Final = ValueShape(r"[1-9][0-9]{0,8}", "a whole number from 1 up")
FLAG: Final = ValueShape(r"true|false", "true or false")
# No character that a driver's URL, its options, or the SQL that it makes of them would read as an end.
NAME: Final = ValueShape(r"[\w.$#-]{1,128}", "a name of letters, digits and _ . $ # -")
LABEL: Final = ValueShape(r"[\w.:/@+ -]{1,64}", "at most 64 letters, digits, blanks and _ . : / @ + -")
PATH: Final = ValueShape(r"[\w./@+ -]{1,1024}", "a path of letters, digits, blanks and _ . / @ + -")
USER: Final = ValueShape(r"[^\s;&,=?(){}'\"%]{1,128}", "a name without blanks and ; & , = ? ( ) { } ' \" %")


def _allow(*words: str) -> ValueShape:
    return ValueShape("|".join(map(re.escape, words)), " or ".join(words))


# Keys of Spark's own reader that every driver may be given.
READER: Final[Mapping[str, ValueShape]] = {"fetchsize": COUNT, "queryTimeout": COUNT}
_READERS_OWN = frozenset({
    "url", "driver", "dbtable", "query", "preparequery", "partitioncolumn", "lowerbound", "upperbound", "numpartitions",
    "sessioninitstatement", "customschema", "pushdownpredicate", "pushdownaggregate", "pushdownlimit", "pushdownoffset",
    "pushdowntablesample", "prefertimestampntz", "password",
})  # fmt: skip
TLS_KEYS: Final = frozenset({"ssl", "sslmode", "sslrootcert", "sslcert", "sslkey"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """One kind of driver. `keys` may be given in `source.jdbc`, and in the URL where that has attributes.

    `own` are keys, in lower case, that the tool sets itself: nothing gives them away. `place` is the URL up to its attributes, as
    a pattern; `mark` begins them and `comma` parts them. An empty `place`: the URL is SQLAlchemy's and checked elsewhere.
    """

    title: str
    classes: tuple[str, ...] = ()
    keys: Mapping[str, ValueShape]
    own: frozenset[str] = frozenset()
    place: str = ""
    mark: str = ""
    comma: str = ""

    @property
    def legal(self) -> dict[str, ValueShape]:
        """All that `source.jdbc` may hold."""
        return {**READER, **self.keys}


_HOST = r"(?:[\w.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?"
_FILE = r"[^;:]+"  # no further scheme: it would load an extension, reach a network or make an archive of it

# Of databases without an engine of their own, by the product in their URLs.
DRIVERS: Final[Mapping[str, Driver]] = {
    "h2": Driver(
        title="H2",
        classes=("org.h2.Driver",),
        keys={"user": USER, "SCHEMA": NAME, "IFEXISTS": _allow("true"), "FORBID_CREATION": _allow("true"),
              "ACCESS_MODE_DATA": _allow("r"), "CIPHER": _allow("AES"), "DATABASE_TO_UPPER": FLAG, "DATABASE_TO_LOWER": FLAG,
              "CASE_INSENSITIVE_IDENTIFIERS": FLAG, "LOCK_TIMEOUT": COUNT, "QUERY_TIMEOUT": COUNT, "NETWORK_TIMEOUT": COUNT},
        place=rf"jdbc:h2:(?:(?:file:|split:|nio:|async:)?{_FILE}|(?:tcp|ssl)://{_HOST}/{_FILE}|mem:[\w.-]*)",
        mark=";", comma=";",
    ),
    "derby": Driver(
        title="Apache Derby",
        classes=("org.apache.derby.jdbc.EmbeddedDriver", "org.apache.derby.jdbc.ClientDriver",
                 "org.apache.derby.client.ClientAutoloadedDriver"),
        keys={"user": USER, "create": _allow("false"), "ssl": _allow("basic", "peerAuthentication"), "loginTimeout": COUNT},
        place=rf"jdbc:derby:(?:(?:directory:)?{_FILE}|//{_HOST}/{_FILE})",
        mark=";", comma=";",
    ),
    "duckdb": Driver(
        title="DuckDB",
        classes=("org.duckdb.DuckDBDriver",),
        keys={"duckdb.read_only": _allow("true"), "access_mode": _allow("read_only"), "threads": COUNT, "memory_limit": NAME,
              "max_memory": NAME, "user": USER},
        place=rf"jdbc:duckdb:{_FILE}",
        mark=";", comma=";",
    ),
    "sap": Driver(
        title="SAP HANA",
        classes=("com.sap.db.jdbc.Driver",),
        keys={"user": USER, "databaseName": NAME, "currentSchema": NAME, "encrypt": _allow("true"),
              "validateCertificate": _allow("true"), "hostNameInCertificate": NAME, "trustStore": PATH, "trustStoreType": NAME,
              "connectTimeout": COUNT, "communicationTimeout": COUNT},
        place=rf"jdbc:sap://{_HOST}(?:;{_HOST})*/?",
        mark="?", comma="&",
    ),
    "tibero": Driver(
        title="Tibero",
        classes=("com.tmax.tibero.jdbc.TbDriver",),
        keys={"user": USER, "login_timeout": COUNT, "read_timeout": COUNT, "program_name": LABEL},
        place=rf"jdbc:tibero:thin:@(?://)?{_HOST}[:/][\w.$#-]+",
    ),
    "teradata": Driver(
        title="Teradata",
        classes=("com.teradata.jdbc.TeraDriver",),
        keys={"user": USER, "DATABASE": NAME, "TMODE": _allow("ANSI", "TERA", "DEFAULT"), "CHARSET": NAME, "DBS_PORT": COUNT,
              "ENCRYPTDATA": _allow("ON"), "SSLMODE": _allow("VERIFY-FULL", "VERIFY-CA", "REQUIRE"), "SSLCA": PATH,
              "LOGMECH": _allow("TD2", "LDAP", "TDNEGO"), "COP": _allow("ON", "OFF"), "LOGIN_TIMEOUT": COUNT},
        place=rf"jdbc:teradata://{_HOST}",
        mark="/", comma=",",
    ),
    "db2": Driver(
        title="IBM Db2",
        classes=("com.ibm.db2.jcc.DB2Driver",),
        keys={"user": USER, "currentSchema": NAME, "sslConnection": _allow("true"), "sslTrustStoreLocation": PATH,
              "sslClientHostnameValidation": _allow("BASIC"), "sslCertLocation": PATH,
              "loginTimeout": COUNT, "connectionTimeout": COUNT,
              "blockingReadConnectionTimeout": COUNT,
              "clientProgramName": LABEL, "retrieveMessagesFromServerOnGetMessage": FLAG},
        place=rf"jdbc:db2://{_HOST}/[\w.$#-]+",
        mark=":", comma=";",
    ),
    "oracle": Driver(
        title="Oracle",
        classes=("oracle.jdbc.OracleDriver", "oracle.jdbc.driver.OracleDriver"),
        keys={"user": USER, "oracle.net.CONNECT_TIMEOUT": COUNT, "oracle.jdbc.ReadTimeout": COUNT, "v$session.program": LABEL},
        place=rf"jdbc:oracle:thin:@(?:(?:tcp:|tcps:)?//)?{_HOST}[:/][\w.$#-]+",
    ),
    "sqlserver": Driver(
        title="SQL Server",
        classes=("com.microsoft.sqlserver.jdbc.SQLServerDriver",),
        keys={"user": USER, "databaseName": NAME, "encrypt": _allow("true", "strict"), "trustServerCertificate": _allow("false"),
              "hostNameInCertificate": NAME, "trustStore": PATH, "trustStoreType": NAME, "applicationName": LABEL,
              "applicationIntent": _allow("ReadOnly", "ReadWrite"), "multiSubnetFailover": FLAG, "loginTimeout": COUNT,
              "socketTimeout": COUNT, "lockTimeout": COUNT},
        place=rf"jdbc:sqlserver://(?:[\w.-]+\\\w+|{_HOST})",
        mark=";", comma=";",
    ),
}  # fmt: skip

TRUST: Final = "`source.trust_properties: true` passes on anything, and every report says so first"
_KEY = re.compile(r"[A-Za-z0-9_.$:-]+", re.ASCII)


def option_problems(driver: Driver | None, options: Mapping[str, str], *, trusted: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with `source.jdbc`: key and text. Letter case does not count, as Spark and most drivers have it."""
    twice = dict(find_respelled(options))
    own = _READERS_OWN | (driver.own if driver else frozenset())
    for key, value in options.items():
        if _KEY.fullmatch(key) is None:
            yield key, "holds a character that no option has (legal: letters, digits and _ . $ : -)"
        elif key in twice:
            yield key, f"is another spelling of {twice[key]}; case does not count"
        elif fold(key) in own:
            yield (
                key,
                "belongs into source.url: ?sslmode=verify-full" if fold(key) in TLS_KEYS else "is set by the tool",
            )
        elif driver is not None and not trusted and (problem := _problem(driver, driver.legal, key, value)):
            yield key, problem


def url_problem(url: str, product: str, *, trusted: bool) -> str | None:
    """What is wrong with a `jdbc:` URL of that product, None where it may be used."""
    if trusted:
        return None
    driver = DRIVERS.get(product)
    if driver is None:
        known = ", ".join(name for name, known_driver in DRIVERS.items() if known_driver.place)
        return f"no JDBC driver is known for jdbc:{product} (known: {known}); {TRUST}: add it, with source.driver and jars.paths"
    flags = re.ASCII | re.IGNORECASE
    rest = rf"(?:{re.escape(driver.mark)}(?P<attributes>.*))?" if driver.mark else ""
    match = re.fullmatch(f"(?:{driver.place}){rest}", url, flags)
    if match is None:
        return f"not a URL of {driver.title} as docs/jdbc.md has them; {TRUST}"
    pieces = (match["attributes"] or "").split(driver.comma) if driver.mark else ()
    given = [(key, value) for key, _, value in (piece.partition("=") for piece in pieces if piece)]
    if not all(_KEY.fullmatch(key) and value for key, value in given):
        return f"holds something after the place that is no key=value of {driver.title}"
    for key, first in find_respelled(key for key, _ in given):
        return f"attribute {key} is another spelling of {first}, or the same twice"
    problems = (
        f"attribute {key}: {text}" for key, value in given if (text := _problem(driver, driver.keys, key, value))
    )
    return next(problems, None)


def class_problem(name: str, drivers: Iterable[Driver], *, trusted: bool) -> str | None:
    """What is wrong with `source.driver`: only the classes of these drivers are loaded."""
    known = [class_name for driver in drivers for class_name in driver.classes]
    if trusted or name in known:
        return None
    close = find_nearest_name(name, known)
    guess = f"; did you mean {close}?" if close else ""
    return f"is no JDBC driver that is known{guess} (known: {', '.join(known)}); {TRUST}"


def merge_properties(
    driver: Driver | None, defaults: Mapping[str, str], given: Iterable[tuple[str, str]], ours: Mapping[str, str]
) -> dict[str, str]:
    """What the driver is told: defaults, over them the config's options, over both what is ours; no key in two spellings.

    Spark keeps one of two that differ by letter case only, as chance has it, and the driver may know the other one alone.
    """
    known = {fold(key): key for key in driver.legal} if driver else {}
    own = _READERS_OWN | (driver.own if driver else frozenset())
    properties = dict(defaults)
    for key, value in given:
        if fold(key) not in own:
            properties = overlay_options(properties, {known.get(fold(key), key): value})
    return overlay_options(properties, ours)


def _problem(driver: Driver, legal: Mapping[str, ValueShape], key: str, value: str) -> str | None:
    shapes = {fold(legal_key): shape for legal_key, shape in legal.items()}
    shape = shapes.get(fold(key))
    if shape is None:
        close = find_nearest_name(fold(key), shapes)
        guess = f"; did you mean {next(legal_key for legal_key in legal if fold(legal_key) == close)}?" if close else ""
        return f"is nothing that {driver.title} may be told{guess} (legal: {', '.join(legal)}); {TRUST}"
    return None if shape.fits(value) else f"expected {shape.expected}"
