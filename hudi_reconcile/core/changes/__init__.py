"""Change queries: ranges of commits, versions of file groups, and the four answers."""
