"""PURE: the config for people and editors: printed with `***` for secrets, its JSON Schema, and the files of `init`."""

from __future__ import annotations

import io
from typing import Final, cast

from ruamel.yaml import YAML

from hudi_reconcile.config.fields import Location
from hudi_reconcile.config.load import Loaded
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.secrets import HIDDEN, OPTION_SECTIONS, holds_secret

Tree = dict[str, object]


def shown_tree(loaded: Loaded) -> Tree:
    """The config as plain values that are safe to print."""
    tree: Tree = loaded.config.model_dump(mode="json")
    for location, text in loaded.shown.items():
        if location[0] in tree:  # what is not printed needs no hiding
            _put(tree, location, text)
    _hide_secret_options(tree)
    return tree


def write_yaml(tree: Tree) -> str:
    """The tree as YAML text, keys in the order of the contract."""
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    writer.width = 120
    text = io.StringIO()
    writer.dump(tree, text)
    return text.getvalue().rstrip("\n")


# --- helpers ---


def _put(tree: object, location: Location, text: str) -> None:
    *parents, last = location
    for step in parents:
        tree = cast("Tree", tree)[cast("str", step)]
    cast("Tree", tree)[cast("str", last)] = text


def _hide_secret_options(value: object) -> None:
    if isinstance(value, list):
        for item in value:
            _hide_secret_options(item)
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key in OPTION_SECTIONS and isinstance(item, dict):
            value[key] = {name: HIDDEN if holds_secret(name, text) else text for name, text in item.items()}
        else:
            _hide_secret_options(item)


Schema = dict[str, object]

_REFERENCE: Schema = {"type": "string", "pattern": r"\$\{(env|file):"}


def json_schema() -> Schema:
    """The schema, draft 2020-12."""
    schema = cast("Schema", _allow_references(Config.model_json_schema(mode="validation")))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "reconcile.yaml of hudi-reconcile",
    }


# --- helpers ---


def _allow_references(node: object) -> object:
    """Every text that is held to a pattern or a list of words may be a reference as well."""
    if isinstance(node, list):
        return [_allow_references(item) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") == "string" and ("pattern" in node or "enum" in node):
        about = {key: node[key] for key in ("title", "description", "default") if key in node}
        rule = {key: value for key, value in node.items() if key not in about}
        return {**about, "anyOf": [rule, _REFERENCE]}
    return {key: _allow_references(value) for key, value in node.items()}


CONFIG: Final = """\
# hudi-reconcile: which source tables stand beside which Hudi tables, and how they are compared.
# Check this file with `hudi-reconcile config validate`, everything around it with `hudi-reconcile doctor`.
# Relative paths start at this file. ${env:NAME}, ${env:NAME:-default} and ${file:PATH} are filled in when needed and
# never printed. Durations: 500ms 30s 10m 2h 7d. Shares: 0.1%. What is commented out shows the default; docs/configuration.md.
version: 1

source:
  url: postgresql+psycopg://reader@127.0.0.1:5432/shop   # SQLAlchemy URL, or a jdbc: URL; never with a password in it
  password: ${file:secrets/shop_password}
  # driver: null               # JDBC driver class, for jdbc: URLs; known engines need none
  # jdbc: {}                   # extra options of the JDBC reader and driver; docs/jdbc.md has the legal ones
  # trust_properties: false    # true: pass on any option, URL attribute and driver class; every report says so first
  # insecure: false            # true: off this machine too, take a server whose certificate nobody checked; reports say so
  # time_zone: UTC             # what a timestamp without zone means when it is compared with a clock
  # max_connections: 4
  # statement_timeout: 5m

# spark:
#   master: local[*]           # not set under spark-submit
#   conf: {}                   # further spark.* settings
# jars: {mode: auto, paths: [], executor_folder: null}  # auto | packages | paths; executor_folder: docs/cluster.md
# reports: reports             # one folder for each run, its owner's alone; {path: reports, mode: "0750"}: a group reads too
# run: {time_limit: null, retries: 2}  # such as 2h: then tables are ended, or not begun, and unverified; docs/stopping.md
# audit: {key: null, old_keys: [], unsealed_head: null, retention: null, hold: false}  # docs/audit.md
# outputs:                     # docs/rules.md
#   junit: null                # a file
#   prometheus: null           # a folder
#   ndjson: null               # a file
#   openlineage: null          # {namespace: shop, file: lineage.ndjson, url: null, api_key: null}
#   webhook: null              # {url: "${env:SLACK_WEBHOOK}", on: [drift, unverified, incomplete, refused, usage]}
#   copy_to: null              # a folder in a store, such as s3://bucket/evidence; docs/audit.md
#   github: false

# defaults: {}                 # keys of a table that every table inherits, such as sweep: {settle: 5s}; docs/many-tables.md
# include: []                  # files with further `tables:`; their paths start at this file too
# profiles: {}                 # NAME: keys that --profile NAME lays over this file; one key: --set source.max_connections=2

tables:
  - name: orders               # in commands, results and folder names
    source:
      table: public.orders     # or  query: "SELECT ..."  (strategy full only; name the key then)
      # key: [order_id]        # default: the primary key
      # columns: null          # default: all
      # where: null            # one predicate, used by pull and sweep alike
    pull:
      strategy: timestamp      # incrementing | timestamp | timestamp+incrementing | full | xmin (PostgreSQL, no column)
      watermark: [updated_at]  # one or more columns; the greatest non-null value counts
      # incrementing: null     # a column that only grows, such as order_id
      # overlap: 0s            # re-read this much behind the checkpoint
      # limit: null            # rows per page; each page is a commit of its own
      # most_pages: null       # pages of one pull at most; the next pull goes on
      # stop_after: null       # such as 20m: no further page begins then; the next pull goes on
      # watermark_text: false  # true: the watermark is ISO text of one form
      # on_error: fail         # fail | full (fall back to a full fetch where the checkpoint cannot be used)
      # full_mode: null        # upsert | overwrite (rows gone at the source go); default: overwrite for strategy full
    lake:
      path: lake/orders        # any Hadoop path
      # type: copy_on_write    # copy_on_write | merge_on_read
      # partition_by: []       # columns, or day(col) month(col) year(col)
      # options: {}            # further hoodie.* options
      # index: simple          # simple | bloom (without partitions): how Hudi finds the rows of a commit
      # adopt: false           # true: write a table that another tool made; see `doctor -t orders`
      # cdc: false             # true: Hudi's change log, for `changes`; only when the table is made
      # cdc_logging: data_before_after   # op_key_only | data_before | data_before_after
      # keep_commits: 60       # how many commits `changes` can go back over
    # compare: {exclude: [], rename: {}, tolerance: {}}    # rename: source name -> lake name
    # sweep: {mode: auto, segments: auto, settle: 0s, settle_limit: 1m, snapshot: none,
    #         rotation: 7, proof: auto, max_duty: 100%,  # mode: auto | pushdown | stream; proof: auto | always | never
    #         pause: null}     # {file: pause, statements: 20, lag: 30s, limit: 30m}: leave a busy source alone
    # policy: {max_deletes: 1000, max_delete_share: 5%, max_upsert_share: 20%, max_plan_age: 1d, savepoint: deletes,
    #          quarantine: false,  # true: corrections that break a rule of severity error are held back
    #          require_approval: false, approver: other}  # approver: other | other_login | any; docs/audit.md
    # mask: {}                 # column -> hmac | redact | show; keys cannot be masked
    # personal: redact         # hmac | redact | show: columns named like personal data (email, phone, name, iban ...)
    # rules: rules/orders.yaml
    # time_limit: null         # such as 30m: the table is ended, unverified, and the others go on; docs/stopping.md
    # tags: []                 # words for --tag; -t also takes patterns: -t 'shop_*'
"""

RULES: Final = """\
# Rules for the table `orders`. Name this file under `rules:` of the table to have them run.
version: 1
table: orders
rules:
  - {id: ord-001, check: unique, columns: [order_id]}
  - {id: ord-002, check: not_null, column: order_id}
  # - {id: ord-003, check: between, column: amount, min: 0, max: 1000000, severity: warn, allow: 0.1%}
  # - {id: ord-004, check: drift, kinds: [late_arriving, updated_without_watermark, deleted], allow: 0}
  # - {id: ord-005, check: freshness, max_age: 26h}
# waivers:
#   - {rule: ord-003, reason: "TICKET-123", owner: finance, expires: 2026-12-01}
"""

GITIGNORE: Final = """\
# Runs hold data of the tables, secrets are secrets, and a local lake belongs to nobody's history.
reports/
secrets/
lake/
"""

# Where each file goes below the folder of `init`.
FILES: Final = {"reconcile.yaml": CONFIG, "rules/orders.yaml": RULES, ".gitignore": GITIGNORE}
