"""EDGE: the only room that knows Hudi. Every Hudi option and py4j call lives here, with its reason."""
