"""What is made of a database's catalog, whatever the database: which columns are read, which of them name a row.

Refuses by name what cannot be read. Sends nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hudi_reconcile.core.errors import RefusedError, UsageError, find_nearest_name
from hudi_reconcile.core.source.proposal import UniqueKey
from hudi_reconcile.core.tables.kinds import KEY_KINDS, Column, Kind
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.databases.base import Described, TableRequest


def describe_table(
    request: TableRequest,
    columns: tuple[Column, ...],
    unique: Sequence[UniqueKey],
    *,
    name: str,
    identity: str,
    rows_estimate: int,
    version: Column | None = None,
    where: str | None = None,
    key_texts: frozenset[Kind] = frozenset(),
) -> Described:
    """The table as it is read. `name` is its quoted name, `version` what the database calls a row's version, if asked for.

    `where` is the configured condition as it is sent, where that differs. Columns of kinds in `key_texts` are a key as the
    database's own text of them, which it spells alike for every reader.

    Raises UsageError for a missing column or key, and for a database without row versions where pulls are to go by them;
    RefusedError for columns that differ only by case.
    """
    refuse_case_twins(request.name, columns)
    if request.by_version and version is None:
        raise UsageError(
            f"table {request.name}: strategy xmin goes by a system column of PostgreSQL's tables, which this source has not",
            fix=f"use strategy timestamp, or full: tables[{request.name}].pull.strategy",
        )
    key = _key(request, unique, columns, KEY_KINDS | key_texts)
    texts = {column.name for column in columns if column.name in key and column.kind in key_texts}
    columns = tuple(replace(column, kind=Kind.OWN_TEXT) if column.name in texts else column for column in columns)
    table = SourceTable(
        name=name,
        columns=_choose_columns(request, columns, key),
        key=key,
        rows_estimate=rows_estimate,
        identity=identity,
        version=version,
    )
    return Described(
        table, any(index.is_proof and set(index.names) <= set(key) for index in unique), where or request.where
    )


def refuse_case_twins(table: str, columns: tuple[Column, ...]) -> None:
    """Raises RefusedError for columns that differ only by case: Spark would take one for the other."""
    counts = Counter(column.name.lower() for column in columns)
    twins = [column.name for column in columns if counts[column.name.lower()] > 1]
    if twins:
        raise RefusedError(
            f"table {table}: {len(twins)} columns differ only by case: {', '.join(twins)}",
            fix="read a view with distinct names instead (source.table)",
        )


def _key(
    request: TableRequest, unique: Sequence[UniqueKey], columns: tuple[Column, ...], kinds: frozenset[Kind]
) -> tuple[str, ...]:
    key = request.key
    if not key:
        key = next((index.names for index in unique if index.is_primary), ())
    if not key:
        raise UsageError(
            f"table {request.name} has no primary key, and none is configured",
            fix=f"name the columns that identify a row: tables[{request.name}].source.key: [column, …]",
        )
    by_name = {column.name: column for column in columns}
    for name in key:
        _require_known(request, "source.key", name, by_name)
        if by_name[name].kind not in kinds:
            raise UsageError(
                f"table {request.name}: {name} is {by_name[name].declared}, which cannot identify a row",
                fix=f"choose other columns for tables[{request.name}].source.key, or name a view that shows it as text",
            )
    return key


def _choose_columns(request: TableRequest, columns: tuple[Column, ...], key: tuple[str, ...]) -> tuple[Column, ...]:
    by_name = {column.name: column for column in columns}
    for setting, names in request.named_columns():
        for name in names:
            _require_known(request, setting, name, by_name)
    if request.columns is None:
        kept = columns
    else:
        needed = {*request.columns, *key, *request.moving, *request.partition_columns}
        kept = tuple(column for column in columns if column.name in needed)
    wanted = tuple(request.rename_column(column) for column in kept)
    _refuse_lake_twins(request, wanted)
    return wanted


def _refuse_lake_twins(request: TableRequest, columns: tuple[Column, ...]) -> None:
    """Raises UsageError where two columns would be one in the lake: each would be compared with the other's values."""
    derived = {name.lower() for name in request.derived_columns}
    named: dict[str, list[Column]] = {}
    for column in columns:
        if column.lake_name.lower() in derived:
            raise UsageError(
                f"table {request.name}: {column.name} would be {column.lake_name} in the lake, as is the partition column that "
                "lake.partition_by derives (case does not count)",
                fix=f"give it another name, such as compare: {{rename: {{{column.name}: {column.name}_2}}}}",
            )
        named.setdefault(column.lake_name.lower(), []).append(column)
    for twins in named.values():
        if len(twins) > 1:
            names = " and ".join(column.name for column in twins)
            other = next((column for column in twins if column.name == column.lake_name), twins[-1])
            raise UsageError(
                f"table {request.name}: {names} would both be {twins[0].lake_name} in the lake (compare.rename; case does "
                "not count)",
                fix=f"give one another name, such as compare: {{rename: {{{other.name}: {other.name}_2}}}}",
            )


def _require_known(request: TableRequest, setting: str, name: str, columns: Mapping[str, Column]) -> None:
    if name not in columns:
        hint = find_nearest_name(name, columns)
        raise UsageError(
            f"table {request.name}: {setting} names column {name}, which {request.title} does not have"
            + (f" (did you mean {hint}?)" if hint else ""),
            fix=f"columns are: {', '.join(columns)}",
        )
