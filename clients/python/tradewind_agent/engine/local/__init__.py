"""The local disk of downloads: parts, journals, versions of files, and publishing.

Begin with `storage`, then `local_first` and `publishing`.
Import from the modules: the package itself exports nothing.
"""
