"""The mover rclone: flags, its JSON log, successive runs over parts of a list.

Begin with `mover`, then `log` and `remotes`.
Import from the modules: the package itself exports nothing.
"""
