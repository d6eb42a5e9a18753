"""The transfer engine: many files at once, byte ranges in parallel, pipelined requests, all tunable while it runs.

Reading order: `engine` (what runs), `pool` → `chunks` → `lane` → `connection` → `http1` (how bytes travel), `download`
→ `range_read` → `storage` (what becomes of them), `upload` (the other way), `source` (where jobs come from).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tradewind_agent.engine.address import Url
    from tradewind_agent.engine.credentials import Credentials
    from tradewind_agent.engine.engine import TransferEngine
    from tradewind_agent.engine.jobs import DownloadJob, FileFailure, SizeTrust, TransferResult, UploadJob
    from tradewind_agent.engine.options import EngineOptions, tls_context
    from tradewind_agent.engine.path_sample import PathSample
    from tradewind_agent.engine.progress import ChunkSnapshot, Snapshot
    from tradewind_agent.engine.proxy import Proxies
    from tradewind_agent.engine.retry import RetryPolicy
    from tradewind_agent.engine.source import list_downloads, list_manifest, list_uploads

__all__ = [
    "ChunkSnapshot",
    "Credentials",
    "DownloadJob",
    "EngineOptions",
    "FileFailure",
    "PathSample",
    "Proxies",
    "RetryPolicy",
    "SizeTrust",
    "Snapshot",
    "TransferEngine",
    "TransferResult",
    "UploadJob",
    "Url",
    "list_downloads",
    "list_manifest",
    "list_uploads",
    "tls_context",
]

_HOME = {
    "ChunkSnapshot": "progress",
    "Credentials": "credentials",
    "DownloadJob": "jobs",
    "EngineOptions": "options",
    "FileFailure": "jobs",
    "PathSample": "path_sample",
    "Proxies": "proxy",
    "RetryPolicy": "retry",
    "SizeTrust": "jobs",
    "Snapshot": "progress",
    "TransferEngine": "engine",
    "TransferResult": "jobs",
    "UploadJob": "jobs",
    "Url": "address",
    "list_downloads": "source",
    "list_manifest": "source",
    "list_uploads": "source",
    "tls_context": "options",
}


def __getattr__(name: str) -> Any:
    """Load public names when they are first used: a copy asks for its listing before it needs the whole engine."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
