"""Snapshots of a running transfer."""

from dataclasses import dataclass

from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind_agent.engine.path_sample import PathSample


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSnapshot:
    """The progress of one chunk.

    ``parameters`` : the current ones, with channels taken over from finished chunks.
    ``finished_s`` : when its last file was over, since the start; ``None`` while files are left or if it never had any.
    """

    chunk: ChunkKind
    parameters: Parameters
    moved_bytes: int
    remaining_bytes: int
    remaining_files: int
    files_done: int
    files_skipped: int
    files_failed: int
    finished_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The progress of the entire transfer; ``elapsed_s`` and counters since its start.

    ``permitted_connections`` : simultaneous connections that the servers permit; ``None`` where none was refused.
    """

    elapsed_s: float
    chunks: tuple[ChunkSnapshot, ...]
    path: PathSample
    open_connections: int
    permitted_connections: int | None = None

    @property
    def moved_bytes(self) -> int:
        return sum(chunk.moved_bytes for chunk in self.chunks)

    @property
    def remaining_bytes(self) -> int:
        return sum(chunk.remaining_bytes for chunk in self.chunks)

    @property
    def remaining_files(self) -> int:
        return sum(chunk.remaining_files for chunk in self.chunks)

    @property
    def files_done(self) -> int:
        return sum(chunk.files_done for chunk in self.chunks)

    @property
    def files_skipped(self) -> int:
        return sum(chunk.files_skipped for chunk in self.chunks)

    @property
    def files_failed(self) -> int:
        return sum(chunk.files_failed for chunk in self.chunks)
