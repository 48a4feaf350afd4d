"""What `config show`, `config schema` and `init` print: the same keys as the model, and no secret."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.load import load_config, parse_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.secrets import read_text_file
from hudi_reconcile.config.show import CONFIG, FILES, RULES, json_schema, shown_tree, write_yaml
from hudi_reconcile.config.yaml_document import read_document
from hudi_reconcile.core.errors import ConfigError

CANARY = "hunter2-canary"
PLACE = Place("reconcile.yaml", Path("/base"))


def uncommented(text: str) -> str:
    """The template with every `# key: default` switched on."""
    return "\n".join(
        line.replace("# ", "", 1) if line.lstrip().startswith("# ") else line for line in text.splitlines()[4:]
    )


def test_show_hides_secrets_references_and_options_that_look_secret() -> None:
    text = CONFIG.replace("${file:secrets/shop_password}", CANARY).replace("5432", "${env:PORT}")
    text += "spark:\n  conf: {spark.hadoop.fs.s3a.secret.key: hunter2-canary, spark.ui.enabled: false}\n"

    tree = shown_tree(parse_config(text, PLACE, {"PORT": "6543"}, read_text_file))

    printed = write_yaml(tree)
    assert CANARY not in printed
    assert "6543" not in printed
    assert YAML(typ="safe").load(printed) == tree == json.loads(json.dumps(tree))
    assert "postgresql+psycopg://reader@127.0.0.1:***/shop" in printed
    assert printed.index("version") < printed.index("source") < printed.index("tables")
    assert "spark.ui.enabled: 'false'" in printed


def test_template_is_a_config_without_problems_as_init_writes_it(tmp_path: Path) -> None:
    (tmp_path / "reconcile.yaml").write_text(CONFIG, encoding="utf-8")

    config = load_config(tmp_path / "reconcile.yaml", {})

    assert [table.name for table in config.tables] == ["orders"]
    assert config.tables[0].pull.strategy == "timestamp"


def test_template_comments_name_every_key_with_its_default() -> None:
    as_written = parse_config(CONFIG, PLACE, {}, read_text_file).config
    switched_on = uncommented(CONFIG).replace("incrementing: null", "")

    config = parse_config(switched_on, PLACE, {}, read_text_file).config

    table = config.tables[0]
    changes = {"rules": None, "source": table.source.model_copy(update={"key": None})}
    assert config.model_copy(update={"tables": (table.model_copy(update=changes),)}) == as_written


def test_template_rules_and_gitignore_hold_what_they_name() -> None:
    rules = YAML(typ="safe").load(RULES)

    assert (rules["version"], rules["table"], len(rules["rules"])) == (1, "orders", 2)
    assert {"reports/", "secrets/", "lake/"} <= set(FILES[".gitignore"].splitlines())


def keys_of(schema: object, defs: dict[str, dict[str, object]]) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield from keys_of(defs[str(schema["$ref"]).removeprefix("#/$defs/")], defs)
        for key, value in schema.get("properties", {}).items():
            yield key
            yield from keys_of(value, defs)
        yield from keys_of(schema.get("items"), defs)


def test_schema_describes_every_key_of_the_model_and_refuses_others() -> None:
    schema = json_schema()
    defs = schema["$defs"]
    assert isinstance(defs, dict)

    sections = [schema, *defs.values()]

    assert all(section["additionalProperties"] is False for section in sections)
    for section in sections:
        for key, value in section["properties"].items():
            assert value.get("description") or "$ref" in value, key
    assert {"version", "url", "watermark", "max_delete_share", "partition_by"} <= set(keys_of(schema, defs))
    assert list(schema["properties"]) == list(Config.model_fields)  # type: ignore[call-overload]


def test_schema_takes_a_reference_where_a_word_or_a_duration_is_due() -> None:
    defs = json_schema()["$defs"]

    text = json.dumps(defs["PullConfig"]["properties"]["overlap"])  # type: ignore[index]

    assert r"\\$\\{(env|file):" in text
    assert "(ms|s|m|h|d)" in text


LAYERED = """\
version: 1
source: {url: "postgresql+psycopg://reader@127.0.0.1/shop"}
tables:
  - {name: orders, source: {table: orders}, lake: {path: lake/orders}, tags: [nightly]}
defaults: {sweep: {settle: 5s}, lake: {type: merge_on_read}}
include: [more.yaml]
profiles:
  prod: {source: {max_connections: 2, statement_timeout: "${env:T}"}, tables: [{name: orders, pull: {limit: 3}}]}
"""
BEYOND = [
    ("settle: 5s", "setle: 5s"),
    ("settle: 5s", "settle: 5"),
    ("{sweep", "{name: x, sweep"),
    ("type: merge_on_read", "path: lake"),
    ("[more.yaml]", "more.yaml"),
    ("max_connections: 2", "max_conections: 2"),
    ("max_connections: 2", "max_connections: two"),
    ("{name: orders, pull", "{pull"),
    ("limit: 3", "limt: 3"),
    ("prod: {source", "prod: {include: [x], source"),
    ("[nightly]", "nightly"),
]


def test_schema_takes_defaults_included_files_profiles_and_tags() -> None:
    Draft202012Validator(json_schema()).validate(read_document(LAYERED).values)


@pytest.mark.parametrize(("good", "wrong"), BEYOND)
def test_schema_refuses_in_a_layer_what_the_tool_refuses(good: str, wrong: str) -> None:
    assert LAYERED.count(good) == 1
    text = LAYERED.replace(good, wrong)

    assert not Draft202012Validator(json_schema()).is_valid(read_document(text).values)
    with pytest.raises(ConfigError):
        parse_config(text.replace("include: [more.yaml]\n", ""), PLACE, {}, read_text_file)


def test_template_names_the_keys_that_many_tables_need() -> None:
    for key in ("# defaults: {}", "# include: []", "# profiles: {}", "# tags: []"):
        assert key in CONFIG
