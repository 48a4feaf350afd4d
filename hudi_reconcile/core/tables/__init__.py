"""What a table is: kinds of columns, canonical text, agreement of types, schema changes, partitions, masks."""
