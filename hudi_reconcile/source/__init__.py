"""EDGE: the source database, by SQLAlchemy for small queries and by Spark's JDBC reader for rows."""
