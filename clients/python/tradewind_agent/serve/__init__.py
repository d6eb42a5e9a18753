"""Receiver and origin of files over HTTP/1.1: what ``tradewind serve-files`` runs.

Downloads with ranges and validators, folder indexes, and uploads that are whole or in resumable parts.
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
