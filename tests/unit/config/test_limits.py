"""Numbers of any length, very many keys, long words: one named error each, in bounded time, and messages that people can read."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from time import process_time

import pytest

from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.hoodiestreamer.tree import parse_props
from hudi_reconcile.config.load import parse_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.rules_load import parse_rules
from hudi_reconcile.config.secrets import read_text_file
from hudi_reconcile.config.show import shown_tree
from hudi_reconcile.core.errors import ConfigError

BASE = """\
version: 1
source: {url: postgresql+psycopg://reader@h/d}
tables:
  - name: orders
    source: {table: orders}
    lake: {path: lake/orders}
"""
RULE = "version: 1\ntable: orders\nrules:\n"
PLACE = Place("c.yaml", Path("/base"))
# On a machine with nothing else to do each takes a fifth of it; before, one took minutes.
SECONDS = 20


def config_of(more: str = "") -> Config:
    return parse_config(BASE + more, PLACE, {}, read_text_file).config


def rules_of(text: str) -> object:
    return parse_rules(RULE + text, "r.yaml", "orders")


def refusal_of(read: Callable[[str], object], text: str) -> ConfigError:
    began = process_time()
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert process_time() - began < SECONDS
    assert len(caught.value.message) < 100_000
    return caught.value


@pytest.mark.parametrize(
    "number",
    ["9" * 4_301, f"0x{'f' * 50_000}", f"0o{'7' * 5_000}", f"{'0' * 5_000}1", f"0.{'0' * 90_000}1"],
)
def test_number_of_any_length_is_an_error_with_its_line(number: str) -> None:
    for key in ("pull: {watermark: [u], limit: %s}", "policy: {max_delete_share: %s}", "compare: {tolerance: {a: %s}}"):
        first = refusal_of(config_of, f"    {key % number}\n").problems[0]
        assert first.startswith("c.yaml:7: tables[0].")
        assert "is a number of more than 400 characters" in first

    first = refusal_of(rules_of, f"  - {{id: a, check: between, column: c, min: {number}}}\n").problems[0]
    assert first.startswith("r.yaml:4: rules[0].min: is a number of more than 400 characters")


@pytest.mark.parametrize("number", ["1_0", "1__000", "0b11", "-0x1F", "0x_1", "2024_01"])
def test_number_to_some_readers_and_text_to_others_is_refused(number: str) -> None:
    (problem,) = refusal_of(config_of, f"spark: {{conf: {{spark.x: {number}}}}}\n").problems[:1]

    assert problem.startswith("c.yaml:7: spark.conf.spark.x: is a number to some readers of YAML and text to others")


@pytest.mark.parametrize(
    ("written", "option"),
    [
        ("1_000", "1000"),
        ("010", "10"),
        ("0x10", "16"),
        ("1.10", "1.1"),
        ("0.12345678901234567891", "0.12345678901234567891"),
        ("on", "on"),
        ("TRUE", "true"),
        ("12:30:00", "12:30:00"),
    ],
)
def test_option_is_the_scalar_that_was_written(written: str, option: str) -> None:
    assert config_of(f"spark: {{conf: {{spark.x: {written}}}}}\n").spark.conf == {"spark.x": option}


@pytest.mark.parametrize("number", ["1e999999999", "1e400", ".inf", ".nan", "1e-999999999"])
def test_number_that_no_float_holds_is_no_option_share_or_tolerance(number: str) -> None:
    for more in (
        f"spark: {{conf: {{spark.x: {number}}}}}\n",
        f"    policy: {{max_delete_share: {number}}}\n",
        f"    compare: {{tolerance: {{a: {number}}}}}\n",
    ):
        assert "must be a finite number" in refusal_of(config_of, more).message, more


def test_tolerance_and_share_of_more_digits_than_can_be_shown_are_refused() -> None:
    for key in ("policy: {max_delete_share: %s}", "compare: {tolerance: {a: %s}}"):
        assert "at most 17 digits" in refusal_of(config_of, f"    {key % '0.1000000000000000000000001'}\n").message
    for whole in ("9" * 30, "9007199254740993"):
        assert "at most 17 digits" in refusal_of(config_of, f"    compare: {{tolerance: {{a: {whole}}}}}\n").message
    assert "up to 1e300" in refusal_of(config_of, f"    compare: {{tolerance: {{a: {'9' * 350}}}}}\n").message


@pytest.mark.parametrize(
    "key", ["pull: {watermark: [u], limit: %s}", "policy: {max_deletes: %s}", "sweep: {segments: %s}", "lake: %s"]
)
def test_count_beyond_what_anything_counts_is_refused(key: str) -> None:
    more = f"    {key % (10**30)}\n"
    text = BASE.replace("lake/orders}", f"lake/orders, keep_commits: {10**30}}}") if "lake" in key else BASE + more

    with pytest.raises(ConfigError, match=r"must be less than or equal to|must be auto or"):
        parse_config(text, PLACE, {}, read_text_file)


def test_tolerance_is_shown_as_it_was_written() -> None:
    loaded = parse_config(f"{BASE}    compare: {{tolerance: {{a: 0.01}}}}\n", PLACE, {}, read_text_file)

    assert loaded.config.tables[0].compare.tolerance == {"a": Decimal("0.01")}
    assert shown_tree(loaded)["tables"][0]["compare"]["tolerance"] == {"a": 0.01}  # type: ignore[index]


def test_very_many_unknown_keys_are_counted_and_the_first_are_told() -> None:
    error = refusal_of(config_of, "".join(f"k{number}: 1\n" for number in range(10_000)))

    assert error.problems[0].startswith("c.yaml:7: k0: unknown key")
    assert (len(error.problems), error.more) == (200, 9_800)
    assert error.message.endswith("\nand 9,800 more")


@pytest.mark.parametrize(
    "more",
    [
        f"    compare: {{exclude: [{'a,' * 400_000}]}}\n",
    ],
)
def test_more_values_than_any_config_has_end_the_reading(more: str) -> None:
    assert "holds more than 100,000 keys and values" in refusal_of(config_of, more[:1_000_000]).message


def test_long_list_with_one_repeat_and_many_paths_are_read_in_time() -> None:
    names = ", ".join(f"a{number}" for number in range(20_000))
    assert "holds an entry twice" in refusal_of(config_of, f"    compare: {{exclude: [{names}, a1]}}\n").message

    began = process_time()
    tables = "".join(f"  - {{name: t{n}, source: {{table: t}}, lake: {{path: l/{n}}}}}\n" for n in range(1_000))
    deep = f"  - {{name: deep, source: {{table: t}}, lake: {{path: {'d/' * 200_000}}}}}\n"
    assert len(config_of(tables + deep).tables) == 1_002
    assert process_time() - began < SECONDS


@pytest.mark.parametrize(("first", "second"), [("a/b", "a"), ("a", "a/b"), ("a/", "a"), ("a/../b", "b"), ("a", "./a")])
def test_lake_path_inside_or_around_another_is_told_wherever_it_stands(first: str, second: str) -> None:
    paths = (first, "ab", "x/a", second)
    tables = "".join(
        f"  - {{name: t{n}, source: {{table: t}}, lake: {{path: {one}}}}}\n" for n, one in enumerate(paths)
    )

    (problem,) = refusal_of(config_of, tables).problems

    assert problem.startswith("c.yaml:10: tables[4].lake.path: is, or lies inside or around")


def test_key_and_value_as_long_as_the_file_are_not_repeated_in_full() -> None:
    refusal = refusal_of(config_of, f"? {'k' * 500_000}\n: 1\n")

    assert len(refusal.message) < 1_000
    assert refusal.message.startswith(f"c.yaml:7: {'k' * 200}…: unknown key")


def test_many_rules_and_waivers_of_none_of_them_are_read_in_time() -> None:
    rules = "".join(f"  - {{id: a{number}, check: not_null, column: c}}\n" for number in range(1_000))
    waivers = "".join(f"  - {{rule: b{number}, reason: x, expires: 2026-01-01}}\n" for number in range(1_000))

    assert refusal_of(rules_of, f"{rules}waivers:\n{waivers}").more == 800
    assert refusal_of(rules_of, rules.replace("not_null", "nul")).more == 800


def test_properties_of_very_many_unknown_keys_are_counted_and_the_first_are_told() -> None:
    text = "".join(f"hoodie.streamer.jdbc.tbl{number}=1\n" for number in range(5_000))

    error = refusal_of(lambda one: parse_props(one, PLACE, Path("reports")), text)

    assert "did you mean" in error.problems[-1] or "legal after" in error.problems[-1]
    assert error.more >= 4_800
