"""One function a command: parse, one call to the app, render, exit code."""
