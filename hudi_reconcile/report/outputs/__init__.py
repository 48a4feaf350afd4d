"""One module for each format that other programs read."""
