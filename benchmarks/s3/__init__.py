"""Copies from and to an object store, ours and those of common tools: on the loopback, over wide-area paths, and while
the store fails.

Begin with ``__main__``. ``gateway`` runs the store, ``tools`` has the command lines. ``cell_bench`` and
``cell_runs`` make runs over a path.
"""
