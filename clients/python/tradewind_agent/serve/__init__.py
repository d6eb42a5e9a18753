"""Receiver and origin of files over HTTP/1.1: what ``tradewind serve-files`` runs.

Downloads with ranges and validators, folder indexes, and uploads that are whole or in resumable parts.
"""

from tradewind_agent.serve.counters import Counters
from tradewind_agent.serve.options import Access, AccessObserver, Limits, ServeOptions, TlsFiles
from tradewind_agent.serve.server import Server, serve, serve_forever

__all__ = [
    "Access",
    "AccessObserver",
    "Counters",
    "Limits",
    "ServeOptions",
    "Server",
    "TlsFiles",
    "serve",
    "serve_forever",
]
