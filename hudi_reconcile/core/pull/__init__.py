"""Where a pull stands, what it reads next, and when it tries again."""
