"""EDGE: starts throw-away servers and builds the shop for `hudi-reconcile demo` and the tests. Reconciles nothing."""
