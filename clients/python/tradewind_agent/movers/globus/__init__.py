"""The mover globus-url-copy: flags, dump files, successive runs over a list of files.

Begin with `mover`, then `pairs`.
Import from the modules: the package itself exports nothing.
"""
