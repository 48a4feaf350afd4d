"""What MySQL and MariaDB are asked of their catalog: tables, columns, indexes, sizes. Pure text, with named parameters."""

from __future__ import annotations

# The catalog finds names in any case, by its index; two tables that differ by case are told apart by bytes.
TABLE_QUERY = """
select table_schema as schema_name, table_name as name, table_type as type
  from information_schema.tables
 where table_schema = coalesce(:schema, database()) and table_name = :name
 order by binary table_name = :name desc
"""

COLUMNS_QUERY = """
select column_name as name, data_type as data_type, column_type as declared, is_nullable = 'YES' as nullable,
       numeric_precision as digits, numeric_scale as scale, datetime_precision as fraction
  from information_schema.columns
 where table_schema = :schema and table_name = :name and binary table_schema = :schema and binary table_name = :name
 order by ordinal_position
"""

# A unique prefix of a column makes the column unique too; an index over an expression (no column name) proves nothing.
INDEXES_QUERY = """
select index_name as name, non_unique = 0 as is_unique, column_name as column_name, nullable = 'YES' as nullable,
       seq_in_index as position, sub_part is null as is_whole
  from information_schema.statistics
 where table_schema = :schema and table_name = :name and binary table_schema = :schema and binary table_name = :name
 order by index_name = 'PRIMARY' desc, index_name, seq_in_index
"""

STATISTICS_QUERY = """
select avg_row_length as row_bytes from information_schema.tables
 where table_schema = :schema and table_name = :name and binary table_schema = :schema and binary table_name = :name
"""
