"""PURE: SQL text. Dialects quote, name types and write predicates; nothing here sends a statement."""
