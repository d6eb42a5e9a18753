"""What chunks that share one pipe will do together at settings not tried yet: tables, corrected by what was learned.

Notation
--------
T̂_k(x_k)  table's rate of chunk k alone, bit/s; times exp(d_k) with what was learned of the chunk
C         pipe: the most that any chunk's table reaches
f         min(1, C / Σ T̂_k · exp(d_k)), the share of its lone rate that a chunk keeps
T         exp(g) · f · Σ T̂_k · exp(d_k), all chunks together
T_e       8 · remaining bytes / time until the last chunk is done: what the transfer as a whole gets out of T
P         P_b + f · Σ (P̂_k − P_b), times exp(h): each adds to the base in proportion to what it moves

T_e is what agreements are on: a plan that starves a chunk is a slow one, however full the pipe. A chunk that is done
leaves its share to the others, so that T_e lies between the rate if nothing is passed on and T: their geometric mean.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tradewind.parameters import Parameters
from tradewind.tuning.bank import above_base_w, energy_per_byte
from tradewind.tuning.basis import Basis, ChunkBasis
from tradewind.tuning.belief import Belief
from tradewind.tuning.expectation import Expectation, Expected
from tradewind.units import BITS_PER_BYTE

UNTRIED_SHARE = 0.25
"""Share of a table's log sd that is not common to its settings: what g cannot know of a setting not in force."""


@dataclass(frozen=True, slots=True)
class ActiveChunk:
    """A chunk that has bytes left: what it is, what is in force, what it does and what is left of it."""

    basis: ChunkBasis
    parameters: Parameters
    throughput_bps: float
    remaining_bytes: int
    files_left: int


class Outlook(NamedTuple):
    """Expected of all chunks together at one choice of settings.

    ``low_bps`` : throughput that is exceeded with the agreement's confidence. ``power_w`` and ``j_per_byte`` are on the
    agreement's energy basis, ``None`` where power is not known.
    """

    throughput_bps: float
    low_bps: float
    power_w: float | None
    j_per_byte: float | None
    streams: int


@dataclass(frozen=True)
class Forecaster:
    """Outlooks of one moment of a transfer. ``z`` is the quantile of the agreement's confidence."""

    basis: Basis
    active: tuple[ActiveChunk, ...]
    expectations: tuple[Expectation, ...]
    belief: Belief
    z: float

    def outlook(self, settings: Sequence[Parameters]) -> Outlook:
        """Outlook of the active chunks at ``settings``, in their order."""
        found = [self.expected(i, parameters) for i, parameters in enumerate(settings)]
        lone = [expected.throughput_bps * self._own_gain(i) for i, expected in enumerate(found)]
        share = min(1.0, self._pipe_bps / sum(lone))
        rates = [rate * share * self._path_gain for rate in lone]
        throughput_bps = self._effective_bps(rates)
        power_w = self._power_w(found, share)
        untried = any(parameters != chunk.parameters for parameters, chunk in zip(settings, self.active, strict=True))
        spread = max(expected.log_sd for expected in found) * UNTRIED_SHARE if untried else 0.0
        sd = math.hypot(self.belief.path.sd, spread)
        return Outlook(
            throughput_bps,
            throughput_bps * math.exp(-self.z * sd),
            None if power_w is None else above_base_w(self.basis, power_w),
            None if power_w is None else energy_per_byte(self.basis, throughput_bps=throughput_bps, power_w=power_w),
            sum(parameters.streams for parameters in settings),
        )

    def expected(self, index: int, parameters: Parameters) -> Expected:
        """Table's word on one chunk; channels beyond its files carry nothing."""
        files = self.active[index].files_left
        if (parameters.concurrency or 1) > files:
            parameters = Parameters(
                concurrency=files, parallelism=parameters.parallelism, pipelining=parameters.pipelining
            )
        return self.expectations[index].at(parameters)

    def bare_rates(self) -> list[float]:
        """Rates of the chunks at the settings in force by their tables alone, sharing the pipe, bit/s."""
        lone = [self.expected(i, chunk.parameters).throughput_bps for i, chunk in enumerate(self.active)]
        share = min(1.0, self._pipe_bps / sum(lone))
        return [rate * share for rate in lone]

    def bare_power_w(self) -> float | None:
        """Total power at the settings in force by the tables alone, W."""
        watts = self.expected_power_w()
        return None if watts is None else watts / math.exp(self.belief.power.mean)

    def log_sd(self) -> float:
        """Spread that the tables state at the settings in force, the widest."""
        return max(self.expected(i, chunk.parameters).log_sd for i, chunk in enumerate(self.active))

    def expected_power_w(self) -> float | None:
        """Total power at the settings in force, W."""
        found = [self.expected(i, chunk.parameters) for i, chunk in enumerate(self.active)]
        lone = [expected.throughput_bps * self._own_gain(i) for i, expected in enumerate(found)]
        return self._power_w(found, min(1.0, self._pipe_bps / sum(lone)))

    @property
    def _path_gain(self) -> float:
        return math.exp(self.belief.path.mean)

    def _own_gain(self, index: int) -> float:
        own = self.belief.chunks.get(self.active[index].basis.kind)
        return math.exp(own.mean) if own else 1.0

    @property
    def _pipe_bps(self) -> float:
        return max(expectation.fastest_bps for expectation in self.expectations)

    def _effective_bps(self, rates: Sequence[float]) -> float:
        total_bps = sum(rates)
        if len(rates) == 1:
            return total_bps
        bits = [BITS_PER_BYTE * chunk.remaining_bytes for chunk in self.active]
        last_s = max(each / rate for each, rate in zip(bits, rates, strict=True))
        return math.sqrt(total_bps * sum(bits) / last_s)

    def _power_w(self, found: Sequence[Expected], share: float) -> float | None:
        base_w = self.basis.idle_power_w or 0.0
        added_w = 0.0
        for expected in found:
            if expected.power_w is None:
                return None
            added_w += expected.power_w - base_w
        kept = share if len(found) > 1 else 1.0
        return (base_w + kept * added_w) * math.exp(self.belief.power.mean)


def forecaster(basis: Basis, active: tuple[ActiveChunk, ...], belief: Belief, z: float) -> Forecaster | None:
    """A forecaster, or ``None`` where a chunk has no table."""
    expectations = tuple(expectation for chunk in active if (expectation := chunk.basis.expectation) is not None)
    if not active or len(expectations) < len(active):
        return None
    return Forecaster(basis, active, expectations, belief, z)
