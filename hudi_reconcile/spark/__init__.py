"""EDGE: the one SparkSession, its Java and its jars. Knows no table, no source and no config file."""
