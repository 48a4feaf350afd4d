"""A pull: where it starts, what it reads, what it writes."""
