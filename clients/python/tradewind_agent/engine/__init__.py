"""The transfer engine: many files at once, byte ranges in parallel, pipelined requests, all tunable while it runs.

Begin with `engine`, then `pool` → `chunks` → `request_pipeline` → `http.connection` (how bytes travel), `download` →
`range_read` → `local.storage` (where they are stored), `upload`, and `remote.source` (which lists the jobs).
Import what ``__all__`` names; it is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from tradewind.public_names import load_lazily

if TYPE_CHECKING:
    from tradewind_agent.engine.engine import TransferEngine
    from tradewind_agent.engine.http.address import Url
    from tradewind_agent.engine.http.credentials import Credentials
    from tradewind_agent.engine.http.proxy import Proxies
    from tradewind_agent.engine.http.retry import RetryPolicy
    from tradewind_agent.engine.jobs import DownloadJob, FileFailure, SizeTrust, TransferResult, UploadJob
    from tradewind_agent.engine.options import EngineOptions, build_tls_context
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
    "build_tls_context",
    "list_downloads",
    "list_manifest",
    "list_uploads",
]

# A copy lists its files before it needs the engine itself.
__getattr__ = load_lazily(
    __name__,
    {
        "http.address": ("Url",),
        "http.credentials": ("Credentials",),
        "engine": ("TransferEngine",),
        "jobs": ("DownloadJob", "FileFailure", "SizeTrust", "TransferResult", "UploadJob"),
        "options": ("EngineOptions", "build_tls_context"),
        "path_sample": ("PathSample",),
        "progress": ("ChunkSnapshot", "Snapshot"),
        "http.proxy": ("Proxies",),
        "http.retry": ("RetryPolicy",),
        "remote.source": ("list_downloads", "list_manifest", "list_uploads"),
    },
)
