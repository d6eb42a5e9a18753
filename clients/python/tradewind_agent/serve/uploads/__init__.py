"""PUT of the file server: uploads in one request or in resumable parts, with a quota.

Begin with `receiver`, then `uploads` and `unfinished`.
Import from the modules: the package itself exports nothing.
"""
