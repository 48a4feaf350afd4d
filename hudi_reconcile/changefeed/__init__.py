"""The four change queries of a lake table, and the sinks that are kept in step by them."""
