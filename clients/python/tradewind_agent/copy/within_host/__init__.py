"""Copies from a place of this host to another one. There is no path to tune: files are read and written, and logged."""
