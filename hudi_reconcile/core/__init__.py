"""PURE: values and decisions. Nothing here opens a file, a socket, a database or Spark, or reads a clock."""
