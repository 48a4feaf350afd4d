"""One database, one file. Siblings never import each other."""
