"""What a packed copy is asked for, and what came of one file."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from tradewind.compression.codecs import Codec
from tradewind.compression.steering import Steering
from tradewind_agent.compression.packing import Work
from tradewind_agent.compression.planning import Advised, Wish, steered
from tradewind_agent.compression.sampling import Sample, sample_descriptor


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedOutcome:
    """``work`` : what packing came to; ``wire_bytes``, ``fetched`` : received, and its beginning, of a download."""

    work: Work = field(default_factory=Work)
    wire_bytes: int = 0
    fetched: bytes = field(default=b"", repr=False)
    skipped: bool = False


@dataclass(slots=True, kw_only=True)
class Packing:
    """How a file is packed, and what is known of the path.

    ``advised`` : for files of its sort, where that was asked before. ``at_once`` : packed files that share path, cores
    and ``pool``; ``line_bps`` : of all together.
    """

    wish: Wish
    line_bps: float | None = None
    advised: Advised | None = None
    at_once: int = 1
    pool: ThreadPoolExecutor | None = None
    sample: Sample | None = None

    def codecs(self) -> frozenset[Codec] | None:
        """Those of both ends, where they were found out before."""
        return (self.advised.codecs if self.advised is not None else None) or None

    def steering(self, descriptor: int, codecs: frozenset[Codec]) -> Steering:
        """The setting that a file begins with; ``codecs`` : of both ends.

        Raises
        ------
        CodecMissing
        """
        sample = self.sample = self._sampled(descriptor)
        advice = self.advised.answer if self.wish.adapts and self.advised is not None else None
        return steered(self.wish, sample, self.line_bps, codecs, advice=advice)

    def _sampled(self, descriptor: int) -> Sample:
        """One of its own sort will do: each takes some time of a processor."""
        known = None if self.advised is None else self.advised.sample
        if known is None:
            return sample_descriptor(descriptor)
        return replace(known, file_bytes=os.fstat(descriptor).st_size)
