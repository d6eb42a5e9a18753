"""Options of packing, and the outcome of one file."""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from tradewind.compression.codecs import Codec
from tradewind.compression.steering import Steering
from tradewind_agent.compression.packing import OBSERVED_FROM_BYTES, PackedFile
from tradewind_agent.compression.planning import FileAdvice, PackingMode, find_quick_setting, plan_steering
from tradewind_agent.compression.sampling import FileSample, sample_descriptor
from tradewind_agent.compression.totals import PackingTotals


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedOutcome:
    """The outcome of one file.

    ``work`` : what packing came to. ``wire_bytes``, ``fetched`` : received, and its beginning, of a download.
    ``sample`` : that the end which packed has taken, of this file or of another of its sort.
    """

    work: PackingTotals = field(default_factory=PackingTotals)
    wire_bytes: int = 0
    fetched: bytes = field(default=b"", repr=False)
    sample: FileSample | None = field(default=None, repr=False)
    skipped: bool = False

    @property
    def has_observations(self) -> bool:
        """Return whether something can be learned of codecs by it."""
        efforts = self.work.efforts.values()
        return self.sample is not None and any(each.plain_bytes >= OBSERVED_FROM_BYTES for each in efforts)

    @property
    def held_bytes(self) -> int:
        """Of the file, that are held here."""
        blocks = () if self.sample is None else self.sample.blocks
        packed = [each.last.packed for each in self.work.efforts.values() if each.last is not None]
        return sum(map(len, (*blocks, *packed, self.fetched)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PackingOptions:
    """Options of packing one file, with what is known of the path.

    ``advised`` : for files of its sort, where that was asked before. ``at_once`` : packed files that share path, cores
    and ``pool``; ``line_bps`` : of all together.
    """

    mode: PackingMode
    line_bps: float | None = None
    advised: FileAdvice | None = None
    at_once: int = 1
    pool: ThreadPoolExecutor | None = None

    def find_codecs(self) -> frozenset[Codec] | None:
        """Return those of both ends, where they were found out before."""
        return (self.advised.codecs if self.advised is not None else None) or None

    @property
    def needs_sample(self) -> bool:
        """Return whether a file is sampled before it is packed here."""
        return self.mode.is_adaptive and (self.advised is None or self.advised.sample is None)

    def sample(self, descriptor: int) -> FileSample:
        """Return the sample of an open file that `open_packed_file` needs.

        Raises
        ------
        OSError : it cannot be read.
        """
        return sample_descriptor(descriptor, self.line_bps)

    def open_packed_file(
        self, descriptor: int, status: os.stat_result, codecs: frozenset[Codec], sampling: "Future[FileSample] | None"
    ) -> PackedFile:
        """Return an open file as a packed stream.

        ``codecs`` : of both ends. ``sampling`` : the sample of the file that is being taken, if `needs_sample`; the
        first block does not wait for it.

        Raises
        ------
        OSError : it cannot be read.
        CodecMissing
        """
        quick = None if sampling is None else find_quick_setting(codecs)
        if sampling is not None and quick is not None:

            def make_plan(_descriptor: int) -> tuple[FileSample, Steering]:
                taken = sampling.result()
                return taken, plan_steering(self.mode, taken, self.line_bps, codecs)

            start = Steering(expected={}, line_bps=self.line_bps, setting=quick)
            return PackedFile(descriptor, status, start, pool=self.pool, at_once=self.at_once, make_plan=make_plan)
        sample = self.find_known_sample(status.st_size) if sampling is None else sampling.result()
        advice = self.advised.answer if self.mode.is_adaptive and self.advised is not None else None
        return PackedFile(
            descriptor,
            status,
            plan_steering(self.mode, sample, self.line_bps, codecs, advice=advice),
            adapt=self.mode.is_adaptive,
            pool=self.pool,
            at_once=self.at_once,
            sample=sample,
            samples_late=sample is None and not self.mode.is_raw,
        )

    def find_known_sample(self, file_bytes: int) -> FileSample | None:
        """Return the sample of another file of the same class, which saves the time of a new one."""
        known = None if self.advised is None else self.advised.sample
        return None if known is None else replace(known, file_bytes=file_bytes)
