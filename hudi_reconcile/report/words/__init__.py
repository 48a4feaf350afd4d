"""The words for verdicts, advice, rules and scope, shared by every output."""
