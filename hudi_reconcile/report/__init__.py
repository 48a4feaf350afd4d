"""EDGE: results and findings into one self-contained HTML page. Never queries, never decides."""
