"""Copies with ``--compress``: packed uploads and downloads outside the engine.

Begin with `split_copy` (which files are packed), then `logged`, `run`, `upload` and `download`.
Import from the modules: the package itself exports nothing.
"""
