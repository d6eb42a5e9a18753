"""The file server of ``tradewind serve-files``: downloads with ranges, folder indexes, uploads in resumable parts.

Begin with `server`, then `connection` → `application` → `downloads` and `uploads`.
Import what ``__all__`` names.
"""

from tradewind_agent.serve.counters import Counters
from tradewind_agent.serve.options import AccessEntry, AccessObserver, ServeOptions, ServerLimits, TlsFiles
from tradewind_agent.serve.server import Server, serve, serve_forever

__all__ = [
    "AccessEntry",
    "AccessObserver",
    "Counters",
    "ServeOptions",
    "Server",
    "ServerLimits",
    "TlsFiles",
    "serve",
    "serve_forever",
]
