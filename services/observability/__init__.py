"""Logs, metrics and traces of the server's processes."""
