"""A sweep: segments of the key space, kinds of drift, and how much of a table was compared."""
