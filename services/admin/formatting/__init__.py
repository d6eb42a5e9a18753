"""Formatting for pages: values as text, and forms as values."""
