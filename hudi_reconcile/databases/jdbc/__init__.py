"""Any database by its own JDBC driver."""
