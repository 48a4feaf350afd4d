"""EDGE: Spark expressions over two frames: digests, unequal rows, kinds of drift. Knows no engine and no Hudi."""
