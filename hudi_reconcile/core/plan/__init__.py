"""A plan of corrections: its steps and guards, who approves it, and what became of each key."""
