"""The databases that rows are read from: one folder each. `dialect.py` and `digests.py` are pure text; the others open connections."""
