"""What `source.where` and `source.query` may say, by the SQL of the database that `source.url` names. Decides; reads nothing."""

from __future__ import annotations

from collections.abc import Iterator

from hudi_reconcile.config.fields import Finding, Raw
from hudi_reconcile.core.jdbc_url import is_jdbc, product_of


def source_sql_findings(raw: Raw) -> Iterator[Finding]:
    """Every text of SQL in the tables' sources that is not one condition, or one SELECT. No finding repeats such a text."""
    for index, table in enumerate(raw.sections("tables")):
        source = table.section("source")
        where, query = source.text("where"), source.text("query")
        if where is None and query is None:
            continue
        # It takes a fifth of a second to load, which most configs need not wait for.
        from hudi_reconcile.sql import user_sql  # noqa: PLC0415

        product = _product(raw.section("source").text("url") or "")
        if where is not None and (fault := user_sql.predicate_fault(where, product)):
            yield ("tables", index, "source", "where"), fault
        if query is not None and (fault := user_sql.query_fault(query, product)):
            yield ("tables", index, "source", "query"), fault


def _product(url: str) -> str:
    return product_of(url) if is_jdbc(url) else url.partition(":")[0].partition("+")[0].lower()
