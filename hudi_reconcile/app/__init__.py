"""Composition root: opens the edges, calls the stages, writes the run. The only room that sees both."""
