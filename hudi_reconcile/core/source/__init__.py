"""How a source database is reached, and what protects the connection."""
