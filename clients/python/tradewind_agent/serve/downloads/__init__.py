"""GET and HEAD of the file server: files, ranges, folder indexes and packed downloads.

Begin with `download`.
Import from the modules: the package itself exports nothing.
"""
