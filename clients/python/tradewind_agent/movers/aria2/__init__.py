"""The mover aria2c: flags at the start, JSON-RPC while it runs.

Begin with `mover`.
Import from the modules: the package itself exports nothing.
"""
