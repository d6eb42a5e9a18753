"""HTTP/1.1 of the engine: addresses, connections, proxies, retries and the rate limit.

Begin with `connection`, then `http1`, `dial` and `fetch`.
Import from the modules: the package itself exports nothing.
"""
