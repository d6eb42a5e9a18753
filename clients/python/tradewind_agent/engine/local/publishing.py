"""The last step of a download: check the sum, then give the file its name.

To make a small file and its name survive a power cut takes the disk longer than to receive it. So those that are
complete while others are being published are published together, which costs one wait for the disk and not one a file.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tradewind_agent.engine.http.retry import parse_http_date
from tradewind_agent.engine.local.checksums import Checksum, RunningSum
from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.local_files import sync_folder, to_storage_error
from tradewind_agent.engine.local.storage import PartFile
from tradewind_agent.errors import AgentError, FileFault, StorageFailed

_TOGETHER_BYTES = 1 << 20
"""Files above this size keep no others waiting: each is published by itself."""

_MOST_TOGETHER = 64
"""Files published at once. While as many wait, no others are requested."""

_MOST_OPEN = 2 * _MOST_TOGETHER
"""Files kept open while they wait; answers that are on their way may make them more. A process may have few hundred."""

Outcomes = list[AgentError | None]
"""The error of each of several files, in their order."""

OnPublished = Callable[[BaseException | None], None]
"""Called with the error of a published file, or ``None``."""


@dataclass(frozen=True, slots=True, eq=False)
class Publication:
    """A part that holds every byte, and what is known of the file.

    Parameters
    ----------
    identity : with the size known; its time of modification becomes the file's.
    checksum : that the file must have, if known.
    running : the sum of its beginning, where that was computed while the rest arrived.
    """

    part: PartFile
    identity: FileIdentity
    checksum: Checksum | None
    running: RunningSum | None = None

    @property
    def size_bytes(self) -> int:
        assert self.identity.size_bytes is not None
        return self.identity.size_bytes

    @property
    def is_small(self) -> bool:
        return self.size_bytes <= _TOGETHER_BYTES

    def compute_checksum(self, algorithm: str) -> Checksum:
        """Return the sum of the part."""
        running = self.running
        if running is None or running.algorithm != algorithm:
            running = RunningSum(algorithm)
        return self.part.compute_checksum(running, self.size_bytes)


class Publisher:
    """Publishes parts in threads.

    Parameters
    ----------
    run_blocking : runs work in a thread.
    durable : a file that has its name survives a power cut.
    """

    def __init__(
        self, run_blocking: Callable[[Callable[[], Outcomes]], "asyncio.Future[Outcomes]"], *, durable: bool
    ) -> None:
        self._run_blocking = run_blocking
        self._durable = durable
        self._waiting: list[tuple[Publication, OnPublished]] = []
        self._busy = False

    def publish(self, publication: Publication, on_published: OnPublished) -> None:
        """Publish as soon as possible; ``on_published`` is not called once the publisher is closed."""
        if not publication.is_small:
            self._start([(publication, on_published)])
            return
        if len(self._waiting) >= _MOST_OPEN:
            publication.part.close()  # opened again later
        self._waiting.append((publication, on_published))
        if not self._busy:
            self._go_on()

    def is_behind(self) -> bool:
        """Return whether so many files wait that no others should be requested: the disk is slower than the path."""
        return len(self._waiting) >= _MOST_TOGETHER

    def close(self) -> None:
        """Start no more."""
        self._waiting.clear()

    def _go_on(self) -> None:
        batch, self._waiting = self._waiting[:_MOST_TOGETHER], self._waiting[_MOST_TOGETHER:]
        self._busy = bool(batch)
        if batch:
            self._start(batch).add_done_callback(lambda _: self._go_on())

    def _start(self, batch: Sequence[tuple[Publication, OnPublished]]) -> "asyncio.Future[Outcomes]":
        def notify(running: "asyncio.Future[Outcomes]") -> None:
            defect = running.exception()
            outcomes = running.result() if defect is None else [defect] * len(batch)
            for (_, on_published), outcome in zip(batch, outcomes, strict=True):
                on_published(outcome)

        running = self._run_blocking(
            partial(publish_together, [publication for publication, _ in batch], durable=self._durable)
        )
        running.add_done_callback(notify)
        return running


def publish_together(publications: Sequence[Publication], *, durable: bool) -> Outcomes:
    """Give parts their final names, each only once it is complete and safely on disk; may wait for the disk.

    Returns
    -------
    What went wrong with each, in their order: `FileFault` where the sum is another one (the part is thrown away,
    because there is no telling which bytes are wrong) or the name cannot be given; `StorageFailed`.
    """
    faults: dict[Publication, AgentError] = {}

    def run_for_each(step: Callable[[Publication], None]) -> None:
        for publication in publications:
            if publication not in faults:
                try:
                    step(publication)
                except (FileFault, StorageFailed) as fault:
                    publication.part.close_unnamed()
                    faults[publication] = fault

    run_for_each(_complete)
    if durable and len(publications) > 1:
        run_for_each(lambda publication: publication.part.start_writeback())
    if durable:
        run_for_each(lambda publication: publication.part.sync())
    run_for_each(lambda publication: publication.part.name())
    if durable:
        synced: set[str] = set()
        run_for_each(lambda publication: _sync_folders(publication, synced))
    return [faults.get(publication) for publication in publications]


def _complete(publication: Publication) -> None:
    part, expected = publication.part, publication.checksum
    if expected is not None and (found := publication.compute_checksum(expected.algorithm)) != expected:
        part.discard()
        difference = f"{expected.algorithm} is {found.digest.hex()}, expected {expected.digest.hex()}"
        raise FileFault(f"{difference}; the part was thrown away", retryable=False)
    modified = parse_http_date(publication.identity.last_modified or "")
    part.complete(publication.size_bytes, modified.timestamp() if modified is not None else None)


def _sync_folders(publication: Publication, synced: set[str]) -> None:
    """Sync each folder once."""
    part = publication.part
    for folder in (part.folder, *map(str, part.changed_folders)):
        if folder not in synced:
            try:
                sync_folder(folder)
            except OSError as error:
                raise to_storage_error(error, part.destination) from error
            synced.add(folder)
