"""The command line: parse, one call, render, exit code. Nothing else imports this room.

A command's callback returns its `Outcome` (or leaves by an exception); `failure` alone turns exceptions into output.
"""
