"""The local disk: parts, journals, versions and publishing of downloads, and the files of an upload (`local_tree`).

Begin with `storage`, then `local_first` and `publishing`.
Import from the modules: the package itself exports nothing.
"""
