"""The transfer engine: many files at once, byte ranges in parallel, pipelined requests, all tunable while it runs.

Reading order: `engine` (what runs), `pool` → `chunks` → `lane` → `connection` → `http1` (how bytes travel), `download`
→ `range_read` → `storage` (what becomes of them), `upload` (the other way), `source` (where jobs come from).
"""

from typing import TYPE_CHECKING

from tradewind.public_names import loaded_when_used

if TYPE_CHECKING:
    from tradewind_agent.engine.engine import TransferEngine
    from tradewind_agent.engine.http.address import Url
    from tradewind_agent.engine.http.credentials import Credentials
    from tradewind_agent.engine.http.proxy import Proxies
    from tradewind_agent.engine.http.retry import RetryPolicy
    from tradewind_agent.engine.jobs import DownloadJob, FileFailure, SizeTrust, TransferResult, UploadJob
    from tradewind_agent.engine.options import EngineOptions, tls_context
    from tradewind_agent.engine.path_sample import PathSample
    from tradewind_agent.engine.progress import ChunkSnapshot, Snapshot
    from tradewind_agent.engine.remote.source import list_downloads, list_manifest, list_uploads

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

# A copy asks for its listing before it needs the whole engine.
__getattr__ = loaded_when_used(
    __name__,
    {
        "http.address": ("Url",),
        "http.credentials": ("Credentials",),
        "engine": ("TransferEngine",),
        "jobs": ("DownloadJob", "FileFailure", "SizeTrust", "TransferResult", "UploadJob"),
        "options": ("EngineOptions", "tls_context"),
        "path_sample": ("PathSample",),
        "progress": ("ChunkSnapshot", "Snapshot"),
        "http.proxy": ("Proxies",),
        "http.retry": ("RetryPolicy",),
        "remote.source": ("list_downloads", "list_manifest", "list_uploads"),
    },
)
