"""What people write as `source.where` and `source.query`: one condition, one SELECT, which only read. Sends nothing.

Such texts are pasted into our statements, so two readers have to agree on where each string, comment and parenthesis ends:
sqlglot, and the rules below, which are the server's own (PostgreSQL documentation 4.1, MySQL reference 11.1 and 11.7). What
they read in two ways is refused. So is a call of a function that writes, waits, ends sessions, or reads what is no table.

Those functions are from the lists of PostgreSQL 13 to 17 (chapters 9 and 35, appendix F), MySQL 8.4 and MariaDB 11, Oracle,
SQL Server, DuckDB, H2, SQLite, ClickHouse, Snowflake and Databricks. A function of one's own may do the same under any
name: this list is defence in depth, the wall is what the role may do. PostgreSQL's read-only transactions stop neither
large objects (before 16) nor what a function does outside of tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Final

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError
from sqlglot.parser import Parser

from hudi_reconcile.sql.reads import strip_end

_SQLGLOT: Final = {
    "postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql", "oracle": "oracle", "sqlserver": "tsql",
    "tibero": "oracle", **{name: name for name in ("duckdb", "teradata", "snowflake", "redshift", "sqlite", "clickhouse",
                                                   "trino", "presto", "databricks", "hive", "bigquery")},
}  # fmt: skip
_BLANK = r"[ \t\r\n]"
_BLOCK = r"/\*(?![!+]|M!)(?:(?!/\*|\*/).)*\*/"  # servers nest comments or do not, and run what stands in /*! */
_GAPS: Final = {
    "postgres": rf"(?:{_BLANK}|--[^\r\n]*(?:\r?\n|\Z)|{_BLOCK})*",
    "mysql": rf"(?:{_BLANK}|--(?:[ \t][^\r\n]*)?(?:\r?\n|\Z)|#[^\r\n]*(?:\r?\n|\Z)|{_BLOCK})*",
}
_DOUBLED = r"'(?:[^']|'')*'"
_NAME = r'"(?:[^"]|"")*"'
_QUOTED: Final = {
    "postgres": rf"(?:[bBxXnN]|[uU]&)?{_DOUBLED}|[eE]'(?:[^'\\]|\\.|'')*'|{_NAME}|(\$(?:[A-Za-z_]\w*)?\$).*?\1",
    "mysql": r"(?:[bBxXnN]|_\w+ ?)?'(?:[^'\\]|\\.|'')*'|" r'"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`',
}
_ANY_QUOTED = rf"[bBxXnN]?(?!.*\\'){_DOUBLED}|{_NAME}|`[^`]*`|\[[^\[\]'\"]*\]"
_AROUND = "SELECT 1 FROM t WHERE (\n"
# A text on which the parser itself stumbles is not read either.
UNREAD = (SqlglotError, RecursionError, AttributeError, TypeError, ValueError, LookupError)
_DEEPEST = 8
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})
_OPENINGS = re.compile(r"/\*|--")
_MARKS = frozenset("'\"`\\")
_WRITING = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock, exp.Set, exp.Copy, exp.Drop, exp.Alter, exp.Transaction,
            exp.NextValueFor)  # fmt: skip
_OF_ROW = frozenset({
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.GT,
    exp.GTE, exp.LT, exp.LTE, exp.Is, exp.In, exp.Between, exp.Like, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg,
})  # fmt: skip
_CLOCK_WORDS = re.compile(r"now|today|tomorrow|yesterday", re.IGNORECASE)  # PostgreSQL reads times from such texts
_VIEW = "if the database takes it, make a view of it there and name the view as `source.table`"
_COMMENT = "has a comment that databases read in more than one way; remove it"


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table as a query names it, and where. `is_bare`: without its schema."""

    text: str
    start: int
    is_bare: bool = True


def predicate_fault(text: str, product: str) -> str:
    """Why a text is not one condition that only reads; empty where it is. Repeats nothing of it but a function's name."""
    fault = _lexical_fault(text, product, around=_AROUND)
    if fault:
        return fault
    root = condition_tree(text, product)
    where = root and root.find(exp.Where)
    if root is None or where is None or isinstance(where.this.this, (exp.Alias, exp.Tuple)):
        return f"cannot be read as one condition of this database; {_hint(product)}{_VIEW}"
    return _effect(root, product)


def query_fault(text: str, product: str) -> str:
    """Why a text is not one SELECT that only reads; empty where it is."""
    text = strip_end(text)
    fault = _lexical_fault(text, product)
    if fault:
        return fault
    root = parse_sql(text, product)
    if root is None:
        return f"cannot be read as one SELECT of this database; {_hint(product)}{_VIEW}"
    if not isinstance(root, (exp.Query, exp.Values)):
        return "must be one SELECT"
    return _effect(root, product)


def tables(query: str, product: str) -> tuple[NamedTable, ...]:
    """The tables that a query names, in their order. A bare name is a CTE's where that CTE is seen: if recursive, in its body."""
    root = parse_sql(query, product)
    if root is None:  # then the server says what it does not understand
        return ()
    named_tables = []
    for table in root.find_all(exp.Table):
        parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
        if len(parts) == len(table.parts) > 0 and (len(parts) > 1 or not _is_shared(table)):
            start = parts[0].meta["start"]
            named_tables.append(NamedTable(query[start : parts[-1].meta["end"] + 1], start, is_bare=len(parts) == 1))
    return tuple(sorted(named_tables, key=lambda named: named.start))


def condition_tables(text: str, product: str) -> tuple[NamedTable, ...]:
    """The tables that the subqueries of a condition name."""
    named_tables = tables(f"{_AROUND}{text}\n)", product)
    return tuple(
        replace(table, start=table.start - len(_AROUND)) for table in named_tables if table.start >= len(_AROUND)
    )


def is_decided_by_row(text: str, product: str) -> bool:
    """Whether a condition surely says the same of a row until somebody changes that row: no clock, function or other table.

    >>> is_decided_by_row("status in ('NEW', 'PAID') and id > 1", "postgresql"), is_decided_by_row("until > now()", "postgresql")
    (True, False)
    """
    root = condition_tree(text, product)
    where = root and root.find(exp.Where)
    if where is None:
        return False
    nodes = list(where.this.walk())
    texts = (node.this for node in nodes if isinstance(node, exp.Literal) and node.is_string)
    return all(type(node) in _OF_ROW for node in nodes) and not any(_CLOCK_WORDS.search(text) for text in texts)


def add_schemas(query: str, named: Sequence[NamedTable], schemas: Mapping[str, str]) -> str:
    """The query with a schema, already quoted, before each bare table for which there is one; not a letter else differs."""
    for table in reversed(named):
        if table.is_bare and table.text in schemas:
            query = f"{query[: table.start]}{schemas[table.text]}.{query[table.start :]}"
    return query


def parse_sql(text: str, product: str) -> exp.Expr | None:
    """The text as sqlglot reads it; of a database that it does not know, as any of some."""
    dialect = _dialect(product)
    for sql_dialect in (dialect,) if dialect else ("", "postgres", "oracle"):
        try:
            return sqlglot.parse_one(text, read=sql_dialect)
        except UNREAD:
            continue
    return None


def condition_tree(text: str, product: str) -> exp.Expr | None:
    """A condition as sqlglot reads it, within a SELECT that has nothing else."""
    return parse_sql(f"{_AROUND}{text}\n)", product)


def is_nested_deep(tokens: Sequence[Token]) -> bool:
    """Whether sqlglot would read for ever: its time doubles with each `int(` within another, and grows fourfold with each `[`."""
    opened: list[bool] = []
    for before, token in pairwise(tokens):
        if token.token_type in _OPENING:
            opened.append(token.token_type is TokenType.L_BRACKET or before.token_type in Parser.TYPE_TOKENS)
        elif token.token_type in _CLOSING and opened:
            opened.pop()
        if sum(opened) > _DEEPEST:
            return True
    return False


# --- helpers ---


def _is_shared(table: exp.Table) -> bool:
    child: exp.Expr = table
    parent = table.parent
    while parent is not None:
        seen: list[exp.Expr] = []
        if isinstance(parent, exp.With):
            seen = parent.expressions if parent.args.get("recursive") else parent.expressions[: child.index]
        elif (shared := parent.args.get("with_")) is not None and child is not shared:
            seen = shared.expressions
        if any(_fold_name(cte.args["alias"].this) == _fold_name(table.this) for cte in seen):
            return True
        child, parent = parent, parent.parent
    return False


def _fold_name(name: exp.Expr) -> str:
    return name.name if name.args.get("quoted") else name.name.lower()


def _hint(product: str) -> str:
    quoted = "`values`" if _dialect(product) == "mysql" else '"values"'
    operators = ", write an operator as operator(pg_catalog.<<=)" if _dialect(product) == "postgres" else ""
    return f"quote a name that is a word of SQL ({quoted}){operators}; "


def _dialect(product: str) -> str:
    return _SQLGLOT.get(product, "")


def _lexical_fault(text: str, product: str, around: str = "") -> str:
    """What two readers take in two ways, and what would end our own statement. `around`: what we send before the text."""
    dialect = _dialect(product)
    try:
        # Within our SELECT, as at its start a name such as "lock" or "replace" would be read as a command.
        tokens = [_move_token(token, -len(around)) for token in sqlglot.tokenize(around + text, read=dialect)]
    except UNREAD:
        return f"has a string, a name or a comment that does not end; {_VIEW}"
    tokens = [token for token in tokens if token.start >= 0]
    if not tokens:
        return "holds nothing but blanks and comments"
    if tokens[0].token_type is TokenType.COMMAND and not around:
        return "must be one SELECT"
    if any(token.token_type is TokenType.HINT for token in tokens):
        return f"has a hint; {_VIEW}"
    faults = chain(_reading_faults(text, tokens, dialect), _token_faults(text, tokens, dialect))
    return next(faults, "") or (f"nests [ ], or calls of types, too deep; {_VIEW}" if is_nested_deep(tokens) else "")


def _move_token(token: Token, by: int) -> Token:
    return Token(token.token_type, token.text, token.line, token.col, token.start + by, token.end + by, token.comments)


def _reading_faults(text: str, tokens: Sequence[Token], dialect: str) -> Iterator[str]:
    gap, quoted = _GAPS.get(dialect, _GAPS["postgres"]), _QUOTED.get(dialect, _ANY_QUOTED)
    at, depth, before, plain = 0, 0, "", ""
    for token in tokens:
        if token.start < at:  # sqlglot makes two of what stands there once
            continue
        if not re.fullmatch(gap, text[at : token.start], re.DOTALL):
            yield _COMMENT
        plain += " " if token.start > at else ""
        at = token.end + 1
        lexeme = text[token.start : at]
        is_plain = _MARKS.isdisjoint(lexeme) and not lexeme.startswith("$")
        plain += lexeme if is_plain else " "
        is_odd = not _MARKS.isdisjoint(lexeme) and not re.fullmatch(quoted, lexeme, re.DOTALL | re.ASCII)
        if (
            is_odd
            or _joins(before, lexeme, text[token.start - 1 : token.start])
            or (dialect != "postgres" and _is_dollar(lexeme))
        ):
            yield f"has a quoted part that databases read in more than one way; {_VIEW}"
        before = lexeme
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if depth < 0:
            yield "closes a parenthesis that it did not open"
    # sqlglot may find an operator where a server finds that a comment begins: ||/ in ||/*.
    if not re.fullmatch(gap, text[at:], re.DOTALL) or _OPENINGS.search(plain):
        yield _COMMENT
    if depth:
        yield "leaves a parenthesis open"


def _joins(before: str, lexeme: str, char: str) -> bool:
    # PostgreSQL reads '…' after E'…' by the first one's escapes, and a dollar after a letter as part of a name.
    if lexeme.startswith("$"):
        return char.isalnum() or char in ("_", "$")
    return lexeme.startswith("'") and before.endswith("'")


def _is_dollar(lexeme: str) -> bool:
    return _MARKS.isdisjoint(lexeme) and "$" in lexeme and re.fullmatch(r"\w[\w$]*", lexeme) is None


def _token_faults(text: str, tokens: Sequence[Token], dialect: str) -> Iterator[str]:
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type is TokenType.SEMICOLON:
            yield 'has a ";" outside quotes: one statement is sent at a time'
        if token.token_type is TokenType.INTO:
            yield "writes (INTO): it may only read"
        if token.token_type is TokenType.COLON_EQ and dialect == "mysql":
            yield "sets a variable (:=): it may only read"
        name, next_ = text[token.start : token.end + 1].strip('"`[]'), after and after.token_type
        if (next_ is TokenType.L_PAREN and has_effect(name, dialect)) or (
            next_ is TokenType.DOT and is_package_with_effects(name)
        ):
            yield f"calls {name.lower()}, which does more than read rows of tables; remove it"
        if name.lower() == "u" and text[token.end + 1 : token.end + 3] == '&"':
            yield 'has a name in U&"…"; write its letters'


def _effect(root: exp.Expr, product: str) -> str:
    writes = next(root.find_all(*_WRITING), None)
    if writes is not None:
        return f"does more than read ({type(writes).__name__.upper()}): it may only read"
    if any(names_file(table.name, _dialect(product)) for table in root.find_all(exp.Table)):
        return "names a file as a table: it may only read tables"
    return ""


_POSTGRES = (
    r"set_config|setval|nextval|txid_current|pg_current_xact_id|pg_export_snapshot|pg_notify|pg_nextoid"
    r"|pg_(?:terminate|cancel)_backend|pg_(?:try_)?advisory_.*|pg_sleep.*|pg_log_.*|pg_stat_force_next_flush"
    r"|pg_stat_reset.*|pg_stat_statements_reset|pg_(?:restore|clear)_.*_stats"
    r"|pg_(?:read|stat|ls|write|rotate).*file.*|pg_ls_.*|pg_file_.*|pg_logdir_ls|pg_logfile_rotate"
    r"|pg_(?:reload_conf|promote|switch_(?:wal|xlog)|(?:start|stop)_backup|backup_(?:start|stop)|(?:wal|xlog)_replay_(?:pause|resume))"
    r"|pg_(?:logical|replication|create|drop)_.*|pg_copy_.*_slot|pg_sync_replication_slots|binary_upgrade_.*"
    r"|pg_import_system_collations|pg_extension_config_dump|pg_stop_making_pinned_objects"
    r"|brin_(?:de)?summarize_.*|gin_clean_pending_list|pg_truncate_visibility_map|heap_force_.*|pg_prewarm|autoprewarm_.*"
    r"|lo_(?:import|export|creat|create|unlink|put|get|open|close|from_bytea|lseek.*|tell.*|truncate.*)|loread|lowrite"
    r"|dblink|dblink_.*|postgres_fdw_disconnect.*|http_(?:get|post|put|patch|delete|head)"
    # These run the SQL that they are given as text, which nobody has read.
    r"|ts_stat|ts_rewrite|(?:query|cursor|table|schema|database)_to_xml.*|crosstab[2-4n]?|connectby|xpath_table|xslt_process"
)
_MYSQL = (
    r"load_file|sleep|benchmark|get_lock|release_(?:lock|all_locks)|last_insert_id|set_var|sys_(?:exec|eval|set|get)"
    r"|(?:master|source)_(?:pos|gtid)_wait|wait_for_executed_gtid_set|wait_until_sql_thread_after_gtids"
    r"|asynchronous_connection_failover_.*|group_replication_.*|service_(?:get|release)_.*_locks|version_tokens_.*"
    r"|keyring_key_.*|audit_log_.*|audit_api_.*|set_firewall_mode|mysql_firewall_.*|load_rewrite_rules"
)
_OTHERS = (
    r"csvread|csvwrite|file_read|file_write|link_schema|(?:abort|cancel)_session"  # H2
    r"|load_extension|readfile|writefile|fts3_tokenizer"  # SQLite
    r"|xp_.*|openrowset|opendatasource|openquery|fn_(?:get_audit_file|trace_gettable|xe_file_target_read_file|dump_dblog)"
    r"|(?:http|db|xdb)uritype|system\$.*|read_files|http_request|java_method|external_query"
)
_DUCKDB = (
    r"read_(?:csv|json|ndjson|parquet|text|blob|duckdb|xlsx)(?:_\w*)?|parquet_.*|sniff_csv|(?:postgres|mysql|sqlite)_(?:execute|query|scan|attach)\w*"
    r"|json_execute_serialized_sql|(?:delta|arrow|pandas)_scan\w*|iceberg_.*|st_read\w*|force_checkpoint|copy_database"
)
_BY_DIALECT: Final = {  # names that are honest elsewhere
    "duckdb": r"glob|query|query_table|getenv|checkpoint|write_log|enable_logging|which_secret|duckdb_secrets",
    "clickhouse": r"file|url|s3\w*|remote\w*|mysql|postgresql|mongodb|redis|jdbc|odbc|hdfs\w*|sqlite|executable|sleep\w*",
    "databricks": r"reflect2?|try_reflect", "hive": r"reflect2?",
}  # fmt: skip
_NAMES: Final = re.compile(f"{_POSTGRES}|{_MYSQL}|{_OTHERS}|{_DUCKDB}", re.IGNORECASE)
_OWN_NAMES: Final = {dialect: re.compile(names, re.IGNORECASE) for dialect, names in _BY_DIALECT.items()}
_PACKAGES: Final = re.compile(
    r"utl_(?:http|file|tcp|smtp|mail|inaddr|dbws)|httpuritype"
    r"|dbms_(?:sql|sys_sql|xmlgen|xmlquery|xmlstore|xslprocessor|pipe|alert|scheduler|job|lock|session|system|ldap|java.*|cloud.*"
    r"|aq.*|datapump|file_transfer|export_extension|network_.*|flashback.*|transaction)",
    re.IGNORECASE,
)
_FILE: Final = re.compile(
    r".*[/\\*].*|.*\.(?:csv|tsv|txt|json|jsonl|ndjson|parquet|arrow|feather|xlsx|db|duckdb|gz|zst)",
    re.IGNORECASE | re.DOTALL,
)


def has_effect(function: str, dialect: str) -> bool:
    """Whether a function of that name, in any letter case, is called for more than rows of tables."""
    own = _OWN_NAMES.get(dialect)
    return bool(_NAMES.fullmatch(function) or (own and own.fullmatch(function)))


def is_package_with_effects(name: str) -> bool:
    """Whether what stands before a dot is a package of Oracle whose functions do more than read."""
    return _PACKAGES.fullmatch(name) is not None


def names_file(table: str, dialect: str) -> bool:
    """Whether the database takes a table's name for a file, as DuckDB does with names that it does not know."""
    return dialect == "duckdb" and _FILE.fullmatch(table) is not None
