"""A plan of corrections: guards, approvals, who else writes the table, and what became of each key."""
