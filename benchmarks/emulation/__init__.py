"""Emulated network paths in user space: a model between two sockets, not a packet-level simulation."""
