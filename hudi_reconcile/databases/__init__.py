"""The databases that rows are read from, a folder each.

`dialect.py` and `digests.py` are pure text; `session.py` and `engine.py` open connections.
"""
