"""Copies that select, skip and remove files."""
