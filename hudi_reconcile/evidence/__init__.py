"""EDGE: the run folder: results, findings, plans, the audit chain, the history of runs."""
