"""What the engine learns about servers, which HTTP calls origins: connection limits, pipelining and range support.

Begin with `limits`, then `pipelining` and `traits`.
Import from the modules: the package itself exports nothing.
"""
