"""Copies from one server to another through this host."""
