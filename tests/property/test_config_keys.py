"""Any added key is reported with its line; any text ends in a config or a config error."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.load import parse_config
from hudi_reconcile.config.model import Config, SourceConfig
from hudi_reconcile.config.secrets import read_text_file
from hudi_reconcile.config.tables import LakeConfig, PullConfig, TableConfig
from hudi_reconcile.core.errors import ConfigError

# A single load takes milliseconds, but other processes may hold the processor for longer than the default deadline.
ON_A_BUSY_MACHINE = settings(deadline=None)

PLACE = Place("c.yaml", Path("/base"))
LINES = """\
version: 1
source:
  url: postgresql://reader@h/d
tables:
  - name: orders
    source: {table: orders}
    pull:
      watermark: [updated_at]
    lake:
      path: lake/orders
""".splitlines()
# After which line a key may be added, how far in, and the section it lands in.
PLACES = [
    (1, 0, "", Config),
    (3, 2, "source.", SourceConfig),
    (6, 4, "tables[0].", TableConfig),
    (8, 6, "tables[0].pull.", PullConfig),
    (10, 6, "tables[0].lake.", LakeConfig),
]
WORDS = st.from_regex(r"[a-z_]{1,12}", fullmatch=True).filter(lambda word: word not in ("null", "true", "false"))


@ON_A_BUSY_MACHINE
@given(WORDS, st.sampled_from(PLACES), st.sampled_from(["1", "x", "[a]", "{a: b}"]))
def test_unknown_key_anywhere_is_reported_with_its_line(
    word: str, place: tuple[int, int, str, type[Config]], value: str
) -> None:
    after, indent, prefix, section = place
    lines = [*LINES[:after], f"{' ' * indent}{word}: {value}", *LINES[after:]]

    if word in section.model_fields:
        return
    with pytest.raises(ConfigError) as caught:
        parse_config("\n".join(lines), PLACE, {}, read_text_file)

    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith(f"c.yaml:{after + 1}: {prefix}{word}: unknown key")


@ON_A_BUSY_MACHINE
@given(st.text(max_size=200))
def test_any_text_is_a_config_or_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        parse_config(text, PLACE, {}, read_text_file)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "x", "5%", "1s", "${env:A}", "auto", "full"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "name", "hoodie.a"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@ON_A_BUSY_MACHINE
@given(st.sampled_from(PLACES), st.data())
def test_any_value_of_any_key_is_taken_or_a_config_error(
    place: tuple[int, int, str, type[Config]], data: st.DataObject
) -> None:
    after, indent, _, section = place
    key = data.draw(st.sampled_from(sorted(section.model_fields)))
    value = (
        json.dumps(data.draw(VALUES)).replace("NaN", ".nan").replace("-Infinity", "-.inf").replace("Infinity", ".inf")
    )
    lines = [line for line in LINES if not (line.startswith(" " * indent + key + ":") and not line.endswith(":"))]

    with contextlib.suppress(ConfigError):
        parse_config(
            "\n".join([*lines[:after], f"{' ' * indent}{key}: {value}", *lines[after:]]), PLACE, {}, read_text_file
        )
