"""Sources of a transfer: index pages, manifests and local folders, listed as jobs.

Begin with `source`, then `remote_tree` and `index_request`.
Import from the modules: the package itself exports nothing.
"""
