"""The mover curl: flags, reports on standard error, successive runs over a list of files.

Begin with `mover`, then `file_list` and `configuration`.
Import from the modules: the package itself exports nothing.
"""
