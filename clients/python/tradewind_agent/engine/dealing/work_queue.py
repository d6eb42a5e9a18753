"""The files of a chunk that wait for a channel."""

from collections import deque
from collections.abc import Iterator

from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.http.address import Origin
from tradewind_agent.engine.request_pipeline import RequestPipeline


class WorkQueue:
    """Files waiting for a channel, by origin, so that a busy connection can continue with its own origin."""

    def __init__(self) -> None:
        self._by_origin = dict[Origin, deque[FileTransfer]]()

    def __len__(self) -> int:
        return sum(len(files) for files in self._by_origin.values())

    def add(self, file: FileTransfer, *, first: bool = False) -> None:
        """Queue a file once; ``first`` puts it at the head, for a file that has been started."""
        if file.is_placed:
            return
        file.is_placed = True
        files = self._by_origin.setdefault(file.url.origin, deque())
        if first:
            files.appendleft(file)
        else:
            files.append(file)

    def pop(self, pipeline: RequestPipeline) -> FileTransfer | None:
        """Return the next file for a pipeline.

        Of its own origin if there is one, else of the origin with most files.
        """
        own = pipeline.origin
        files = self._by_origin.get(own) if own is not None and pipeline.can_serve(own) else None
        if not files and not pipeline.outstanding:
            served = (files for origin, files in self._by_origin.items() if files and pipeline.can_serve(origin))
            files = max(served, key=len, default=None)
        if not files:
            return None
        file = files.popleft()
        file.is_placed = False
        return file

    def list_origins(self) -> set[Origin]:
        """Return the origins that files wait for."""
        return {origin for origin, files in self._by_origin.items() if files}

    def drain(self) -> Iterator[FileTransfer]:
        """Take every file out."""
        for files in self._by_origin.values():
            while files:
                file = files.popleft()
                file.is_placed = False
                yield file
