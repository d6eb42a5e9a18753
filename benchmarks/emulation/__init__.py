"""Emulated network paths in user space: a model between two sockets, not a packet-level simulation.

Start with `path`, which listens, and `model`, which says when bytes arrive. Benchmarks and tests use `emulate` of
`path` and `PathProfile` of `profile`.
"""
