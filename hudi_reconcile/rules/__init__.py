"""EDGE: Great Expectations on a pinned frame of the lake, the only room that imports it. `engine` is the way in.

Counts come from Great Expectations, keys of failed rows from our own Spark filter; the two must agree.
"""
