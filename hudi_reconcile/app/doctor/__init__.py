"""The checks of `doctor`: what the server, the tables, the lake and its other writers tell before anything is written."""
