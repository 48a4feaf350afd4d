"""HoodieStreamer properties as a config: every key in its place, everything wrong at once with its line, and no secret told."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.hoodiestreamer.keys import KEYS_FILE, PREFIXES, hudi_keys
from hudi_reconcile.config.hoodiestreamer.tree import FromProps, parse_props
from hudi_reconcile.config.hoodiestreamer.url import source_url
from hudi_reconcile.config.load import load_config, parse_config
from hudi_reconcile.config.secrets import read_text_file
from hudi_reconcile.config.show import write_yaml
from hudi_reconcile.core.errors import ConfigError
from hudi_reconcile.spark.jars import list_locked_jars

PLACE = Place("orders.properties", Path("/props"))
BASE = {
    "jdbc.url": "jdbc:postgresql://db:5433/shop",
    "jdbc.user": "reader",
    "jdbc.table.name": "public.orders",
    "table.name": "orders",
    "base.path": "lake/orders",
}


def text_of(prefix: str = "hoodie.streamer.jdbc.", /, **changes: str | None) -> str:
    """Properties with changes; `jdbc.` stands for the prefix, anything else for `hoodie.`; two underscores for a dot."""
    found = {**BASE, **{name.replace("__", "."): value for name, value in changes.items()}}
    lines = []
    for name, value in found.items():
        key = prefix + name.removeprefix("jdbc.") if name.startswith("jdbc.") else f"hoodie.{name}"
        lines += [] if value is None else [f"{key}={value}"]
    return "\n".join(lines)


def read(text: str) -> FromProps:
    return parse_props(text, PLACE, Path("/here/reports"))


def refused(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return list(caught.value.problems)


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize(
    ("flag", "column"),
    [
        ("jdbc__incr__pull", "jdbc__table__incr__column__name"),
        ("jdbc__incremental__pull", "jdbc__table__incremental__column__name"),
    ],
)
def test_every_spelling_of_an_incremental_pull_means_the_same(prefix: str, flag: str, column: str) -> None:
    found = read(text_of(prefix, **{flag: "true", column: "updated_at", "jdbc__password__file": "secret"}))

    (table,) = found.config.tables
    assert found.config.source.url == "postgresql+psycopg://reader@db:5433/shop"
    assert found.config.reports == Path("/here/reports")
    assert (table.name, table.source.table, table.lake.path) == ("orders", "public.orders", "/props/lake/orders")
    assert (table.pull.strategy, table.pull.watermark, table.pull.on_error) == ("timestamp", ("updated_at",), "fail")


def test_keys_partitions_fallback_and_options_land_in_their_places() -> None:
    found = read(
        text_of(
            jdbc__incr__pull="true",
            jdbc__table__incr__column__name="at",
            jdbc__incr__fallback__to__full__fetch="true",
            jdbc__extra__options__fetchsize="500",
            jdbc__extra__options__numPartitions="3",
            jdbc__extra__options__lowerBound="1",
            jdbc__storage__level="disk_only",
            datasource__write__recordkey__field="region, order_id",
            datasource__write__partitionpath__field="region:SIMPLE,day",
            datasource__write__table__type="MERGE_ON_READ",
            datasource__write__keygenerator__class="org.apache.hudi.keygen.CustomKeyGenerator",
            datasource__write__precombine__field="at",
            keep__max__commits="200",
        )
    )

    (table,) = found.config.tables
    assert table.source.key == ("region", "order_id")
    assert [field.lake_name for field in table.lake.partition_by] == ["region", "day"]
    assert (table.lake.type, table.lake.options) == ("merge_on_read", {"hoodie.keep.max.commits": "200"})
    assert table.pull.on_error == "full"
    assert (found.config.source.max_connections, found.config.source.jdbc) == (3, {"fetchsize": "500"})
    told = " ".join(found.notes)
    assert [name in told for name in ("lowerBound", "storage.level=DISK_ONLY", "precombine")] == [True] * 3


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("hoodie.streamer.transformer.sql", "transformers run in HoodieStreamer alone"),
        ("hoodie.deltastreamer.transformer.sql.file", "transformers run in HoodieStreamer alone"),
        ("hoodie.Streamer.Transformer.SQL", "transformers run in HoodieStreamer alone"),
        ("hoodie.streamer.schemaprovider.source.schema.file", "schema providers"),
        ("hoodie.streamer.schemaprovider.spark_avro_post_processor.enable", "schema providers"),
        ("hoodie.deltastreamer.source.kafka.value.deserializer.class", "the source is the JDBC table"),
        ("hoodie.streamer.keygen.timebased.output.dateformat", "partitions are derived by lake.partition_by"),
        ("hoodie.streamer.errortable.x", "there is no error table"),
        ("hoodie.streamer.ingestion.tablesToBeIngested", "a setting of HoodieStreamer itself"),
        ("hoodie.datasource.write.row.writer.enable", "the tool writes rows in its own way"),
        ("hoodie.errortable.enable", "is set by the tool itself"),
        ("include", "other files are not included"),
    ],
)
@pytest.mark.parametrize("trusted", [None, "true"])
def test_key_that_would_change_rows_at_hoodiestreamer_is_refused_by_name(
    key: str, why: str, trusted: str | None
) -> None:
    (problem,) = refused(text_of(jdbc__trust__properties=trusted) + f"\n{key}=x\n")

    assert f": {key}: " in problem
    assert why in problem


def test_key_that_hudi_does_not_know_is_refused_with_the_nearest_unless_it_is_trusted() -> None:
    misspelt = text_of(upsert__shuffle__paralelism="2")

    (problem,) = refused(misspelt)

    assert "did you mean 'hoodie.upsert.shuffle.parallelism'?" in problem
    assert "hoodie.streamer.jdbc.trust.properties=true passes it on" in problem
    trusted = read(f"{misspelt}\nhoodie.streamer.jdbc.trust.properties=true")
    assert trusted.config.tables[0].lake.options == {"hoodie.upsert.shuffle.paralelism": "2"}
    legal = {"hoodie.UPSERT.shuffle.parallelism": "2", "hoodie.write.lock.zookeeper.url": "z", "hoodie.aws.x": "y"}
    found = read(text_of() + "".join(f"\n{key}={value}" for key, value in legal.items()))
    assert found.config.tables[0].lake.options == {key.lower(): value for key, value in legal.items()}


def test_list_of_hudis_keys_is_that_of_the_bundle_in_the_lock_file() -> None:
    head = KEYS_FILE.read_text("utf-8").splitlines()[0]

    assert list_locked_jars()[0].coordinate in head, "make it again: python -m tests.support.hudi_keys"
    assert {"hoodie.upsert.shuffle.parallelism", "hoodie.keep.max.commits"} <= set(hudi_keys())


def test_without_an_incremental_column_every_row_is_fetched() -> None:
    assert read(text_of()).config.tables[0].pull.strategy == "full"
    assert read(text_of(jdbc__incr__pull="false", jdbc__table__incr__column__name="at")).config.tables[
        0
    ].pull.strategy == ("full")


def test_number_as_incremental_column_is_pulled_by_it() -> None:
    text = text_of(jdbc__incr__pull="true", jdbc__table__incr__column__name="id")

    found = parse_props(text, PLACE, Path("reports"), incrementing=True)

    assert (found.config.tables[0].pull.strategy, found.config.tables[0].pull.incrementing) == ("incrementing", "id")


def test_subquery_as_table_is_a_query() -> None:
    found = read(text_of(jdbc__table__name="(select * from orders) as t", datasource__write__recordkey__field="id"))

    assert found.config.tables[0].source.query == "select * from orders"


def test_everything_wrong_is_told_at_once_with_line_and_nearest_spelling() -> None:
    text = (
        "hoodie.streamer.jdbc.ulr=jdbc:postgresql://db/shop\n"
        "hoodie.deltastremer.jdbc.user=me\n"
        "hoodie.streamer.jdbc.incr.pull=yes\n"
        "hoodie.streamer.jdbc.storage.level=MEMORY\n"
        "include=base.properties\n"
        "hoodie.streamer.jdbc.extra.options.numPartitions=0\n"
        "hoodie.datasource.write.keygenerator.class=a.TimestampBasedKeyGenerator\n"
        "hoodie.table.name=a\nhoodie.table.name=b\n"
    )

    problems = refused(text)

    assert [line.split(":")[1] for line in problems] == ["1", "1", "1", "1", "2", "3", "4", "5", "6", "7", "9"]
    shown = "\n".join(problems)
    assert "ulr: unknown key; did you mean 'hoodie.streamer.jdbc.url'?" in shown
    assert "did you mean 'hoodie.deltastreamer.jdbc.user'?" in shown
    assert "hoodie.base.path: is missing" in shown
    assert "other files are not included" in shown
    assert "is given twice, first on line 8" in shown


def test_keys_under_two_prefixes_may_agree_but_not_differ() -> None:
    again = "\nhoodie.deltastreamer.jdbc.user="

    assert read(text_of() + again + "reader").config.tables[0].name == "orders"
    assert refused(text_of() + again + "writer") == [
        "orders.properties:6: hoodie.deltastreamer.jdbc.user: says otherwise than hoodie.streamer.jdbc.user, first on line 2"
    ]


def test_what_the_config_itself_refuses_is_told_by_the_propertys_name() -> None:
    (problem,) = refused(text_of(table__name="a/b"))

    assert problem.startswith("orders.properties:4: hoodie.table.name: must work as a folder name")


def test_password_of_the_file_loses_its_newline_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "pw").write_text(" s${x}\\\n")
    place = Place("p", tmp_path)
    found = parse_props(text_of(jdbc__password__file="pw"), place, Path("r"))

    secret = found.config.source.password
    assert secret is not None
    assert secret.reveal({}, read_text_file) == " s${x}\\"


def test_password_file_on_a_file_system_of_hadoops_is_its_address_and_never_a_local_name() -> None:
    read_from: list[Path | str] = []

    def reader(path: Path | str) -> str:
        read_from.append(path)
        return "s3cret\n"

    found = read(text_of(jdbc__password__file="hdfs://nn:8020/secrets/pw"))
    secret = found.config.source.password

    assert secret is not None
    assert secret.reveal({}, reader) == "s3cret"
    assert read_from == ["hdfs://nn:8020/secrets/pw"]
    with pytest.raises(ConfigError, match=r"hdfs://nn:8020/secrets/pw cannot be read: only source\.password"):
        secret.reveal({}, read_text_file)


def test_source_limit_is_one_page_of_an_ordered_pull_and_nothing_beside_a_full_one() -> None:
    ordered = text_of(jdbc__incr__pull="true", jdbc__table__incr__column__name="at")

    (table,) = parse_props(ordered, PLACE, Path("r"), source_limit=500).config.tables
    (whole,) = parse_props(text_of(), PLACE, Path("r"), source_limit=500).config.tables

    assert (table.pull.limit, table.pull.most_pages) == (500, 1)
    assert (whole.pull.limit, whole.pull.most_pages) == (None, None)


@pytest.mark.parametrize(
    ("level", "noted"),
    [("MEMORY_AND_DISK", False), ("memory_and_disk_ser", False), ("MEMORY_AND_DISK_SER_2", True), ("DISK_ONLY", True)],
)
def test_storage_level_that_is_not_used_is_told(level: str, *, noted: bool) -> None:
    notes = " ".join(read(text_of(jdbc__storage__level=level)).notes)

    assert ("is not used: rows are held once, in memory and on disk" in notes) is noted


def test_password_in_the_file_or_url_works_and_is_shown_nowhere() -> None:
    for text in (
        text_of(jdbc__password="s3${cret"),
        text_of(jdbc__url="jdbc:postgresql://db/shop?user=x&password=s3${cret"),
    ):
        found = read(text)
        secret = found.config.source.password
        assert secret is not None
        assert secret.reveal({}, read_text_file) == "s3${cret"
        assert found.clear_password
        assert "cret" not in f"{found.config}{write_yaml(found.tree)}"
    assert "cret" not in "".join(refused(text_of(jdbc__password="s3cret", jdbc__password__file="f")))


@pytest.mark.parametrize(
    ("url", "expected", "options"),
    [
        (
            "jdbc:postgresql://[::1]/a%20b?sslmode=require&currentSchema=s",
            "postgresql+psycopg://u%40x@[::1]:5432/a%20b?sslmode=require",
            {"currentSchema": "s"},
        ),
        ("jdbc:mysql://h/shop?useSSL=false", "mysql+pymysql://u%40x@h:3306/shop?sslmode=disable", {}),
        ("jdbc:mariadb://h:1/s?sslMode=VERIFY_CA", "mysql+pymysql://u%40x@h:1/s?sslmode=verify-ca", {}),
    ],
)
def test_known_products_get_their_own_engine(url: str, expected: str, options: dict[str, str]) -> None:
    found = source_url(url, "u@x")

    assert (found.url, found.options) == (expected, options)


@pytest.mark.parametrize("url", ["postgresql://db/shop", "jdbc:postgresql://a,b/shop", "jdbc:mysql://h/s?sslMode=odd"])
def test_url_that_names_no_one_database_is_refused_without_repeating_it(url: str) -> None:
    (problem,) = refused(text_of(jdbc__url=url))

    assert problem.startswith("orders.properties:1: hoodie.streamer.jdbc.url: ")
    assert url not in problem


def test_parameters_of_the_url_are_options_here_unused_or_wrong_and_are_told_by_name() -> None:
    url = "jdbc:mysql://db/shop?sslMode=VERIFY_IDENTITY&serverTimezone=UTC&connectTimeout=500"
    found = read(text_of(jdbc__url=url))

    assert found.config.source.jdbc == {"connectTimeout": "500"}
    assert found.config.source.url.endswith("?sslmode=verify-full")
    assert "serverTimezone in the URL is not used: the tool settles it itself" in found.notes
    (weak,) = refused(text_of(jdbc__url="jdbc:mysql://db/shop?useSSL=true&verifyServerCertificate=true"))
    assert "sslmode=verify-ca checks no name" in weak
    (problem,) = refused(text_of(jdbc__url="jdbc:postgresql://db/shop?socketFactory=evil.F&stringtype=unspecified"))
    assert "hoodie.streamer.jdbc.url: parameter socketFactory is nothing that PostgreSQL may be told" in problem
    assert "evil.F" not in problem


def test_extra_option_that_is_not_listed_is_refused_on_its_line_in_any_case_unless_trusted() -> None:
    problems = refused(text_of(jdbc__extra__options__opTions="x", jdbc__extra__options__sslfactory="evil.F"))

    assert [problem.split(": ")[1] for problem in problems] == [
        "hoodie.streamer.jdbc.extra.options.opTions", "hoodie.streamer.jdbc.extra.options.sslfactory",
    ]  # fmt: skip
    trusted = read(text_of(jdbc__extra__options__sslfactory="a.F", jdbc__trust__properties="true")).config.source
    assert (trusted.trust_properties, trusted.jdbc) == (True, {"sslfactory": "a.F"})


def test_option_of_hudis_that_is_the_tools_is_refused_in_any_case() -> None:
    (problem,) = refused(text_of(Write__concurrency__mode="SINGLE_WRITER"))

    assert "hoodie.Write.concurrency.mode: is set by the tool itself" in problem


@pytest.mark.parametrize(("name", "table"), [("orders", "s.orders"), ("public.orders", "public.orders")])
def test_current_schema_is_the_schema_of_an_unqualified_table(name: str, table: str) -> None:
    found = read(text_of(jdbc__url="jdbc:postgresql://db/shop?currentSchema=s", jdbc__table__name=name))

    assert found.config.tables[0].source.table == table
    assert found.config.source.jdbc == {}


@pytest.mark.parametrize(("schema", "name"), [("a,b", "orders"), ("s", "(select 1 as id) x")])
def test_current_schema_that_names_no_one_table_is_refused(schema: str, name: str) -> None:
    url = f"jdbc:postgresql://db/shop?currentSchema={schema}"

    (problem,) = refused(text_of(jdbc__url=url, jdbc__table__name=name, datasource__write__recordkey__field="id"))

    assert "parameter currentSchema" in problem


def test_other_products_stay_jdbc_with_user_and_driver() -> None:
    found = read(text_of(jdbc__url="jdbc:h2:/data/shop", jdbc__driver__class="org.h2.Driver"))

    source = found.config.source
    assert (source.url, source.driver, source.jdbc) == ("jdbc:h2:/data/shop", "org.h2.Driver", {"user": "reader"})


@pytest.mark.parametrize("url", ["jdbc:postgresql://127.0.0.1/shop", "jdbc:mysql://127.0.0.1/shop"])
def test_driver_class_of_a_database_that_needs_none_is_noted(url: str) -> None:
    found = read(text_of(jdbc__url=url, jdbc__driver__class="org.example.Driver"))

    assert found.config.source.driver is None
    assert "driver.class is not used: PostgreSQL, MySQL and MariaDB need no driver" in " ".join(found.notes)


def test_config_that_is_written_down_means_the_same(tmp_path: Path) -> None:
    text = text_of(
        jdbc__incr__pull="true",
        jdbc__table__incr__column__name="at",
        jdbc__password__file="pw",
        jdbc__trust__properties="true",
        jdbc__extra__options__note="${not a reference}",
        datasource__write__partitionpath__field="region",
    )
    found = read(text)

    (tmp_path / "reconcile.yaml").write_text(write_yaml(found.tree))
    again = load_config(tmp_path / "reconcile.yaml", {})

    assert again.tables == found.config.tables
    assert again.source.model_dump() == found.config.source.model_dump()
    assert parse_config(write_yaml(found.tree), PLACE, {}, read_text_file).config.source.url == found.config.source.url
