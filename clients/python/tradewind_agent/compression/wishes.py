"""What a packed copy is asked for, and what came of one file."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tradewind.compression.model import Line
from tradewind.compression.steering import Steering
from tradewind_agent.compression.asking import answered, request_for
from tradewind_agent.compression.codecs import codecs_of_both
from tradewind_agent.compression.packing import Work
from tradewind_agent.compression.planning import USUAL_LINE_BPS, Wish, steered
from tradewind_agent.compression.sampling import Sample, sample_descriptor

if TYPE_CHECKING:
    from tradewind_agent.client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedOutcome:
    """``work`` : what packing came to here; ``wire_bytes`` : received, of a download."""

    work: Work = field(default_factory=Work)
    wire_bytes: int = 0
    skipped: bool = False


@dataclass(slots=True, kw_only=True)
class Packing:
    """How files are packed, and what is known of the path; ``say`` is told in a line why the service was not asked."""

    wish: Wish
    line_bps: float | None = None
    client: "Client | None" = None
    say: Callable[[str], None] = lambda _: None
    sample: Sample | None = None

    def steering(self, descriptor: int, theirs: str) -> Steering:
        """The setting that a file begins with; ``theirs`` : codecs of the other end, with commas between them.

        Raises
        ------
        CodecMissing
        """
        codecs = codecs_of_both(theirs)
        sample = self.sample = sample_descriptor(descriptor)
        advice = None
        if self.wish.adapts and self.client is not None:
            asked = request_for(sample, Line(self.line_bps or USUAL_LINE_BPS), codecs)
            advice, because = answered(asked, self.client)
            if because:
                self.say(because)
        return steered(self.wish, sample, self.line_bps, codecs, advice=advice)
