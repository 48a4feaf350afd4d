"""Data-quality rules, their reach and their verdicts."""
