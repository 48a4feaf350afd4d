"""Change queries over a table's change log, as Spark expressions: the algebra of `core/changes.py`, provenance, lines."""
