"""Functions that `source.where` and `source.query` may not call: they write, wait, end sessions, or read what is no table.

From the lists of functions of PostgreSQL 13 to 17 (chapters 9 and 35, appendix F), MySQL 8.4 and MariaDB 11, Oracle, SQL Server,
DuckDB, H2, SQLite, ClickHouse, Snowflake and Databricks. A function of one's own may do the same under any name: this list is
defence in depth, the wall is what the role may do. PostgreSQL's read-only transactions stop neither large objects (before 16)
nor what a function does outside of tables.
"""

from __future__ import annotations

import re
from typing import Final

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
