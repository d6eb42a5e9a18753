"""What chunks that share one pipe will do together at settings not tried yet: tables, corrected by what was learned.

Notation
--------
T̂_k(x_k)  table's rate of chunk k alone, bit/s; times exp(d_k) with what was learned of the chunk
C         pipe: the most that any chunk's table reaches
f         min(1, C / Σ T̂_k · exp(d_k)), the share of its lone rate that a chunk keeps
T         exp(g) · f · Σ T̂_k · exp(d_k), all chunks together
T_e       8 · remaining bytes / time until all are done, if each goes on at its rate until the one that takes longest is
          alone, and that one at its best from then on; at most T
P         P_b + f · Σ (P̂_k − P_b), times exp(h): each adds to the base in proportion to what it moves

T_e is what agreements are on: a plan that starves a chunk that cannot catch up alone is slow, however full the pipe.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import truediv
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

    def outlook(self, found: Sequence[Expected], streams: int, *, tried: bool = False) -> Outlook:
        """Outlook where each chunk alone would do as in ``found``; ``tried`` if these settings are in force."""
        lone = [expected.throughput_bps * gain for expected, gain in zip(found, self._own_gains, strict=True)]
        share = min(1.0, self._pipe_bps / sum(lone))
        kept = share * self._path_gain
        throughput_bps = self._effective_bps([rate * kept for rate in lone])
        sd = self._path_sd
        if not tried:
            sd = math.hypot(sd, UNTRIED_SHARE * max(expected.log_sd for expected in found))
        low_bps = throughput_bps * math.exp(-self.z * sd)
        power_w = self._power_w(found, share)
        if power_w is None:
            return Outlook(throughput_bps, low_bps, None, None, streams)
        on_basis_w = above_base_w(self.basis, power_w)
        j_per_byte = energy_per_byte(self.basis, throughput_bps=throughput_bps, power_w=power_w)
        return Outlook(throughput_bps, low_bps, on_basis_w, j_per_byte, streams)

    def expected(self, index: int, parameters: Parameters) -> Expected:
        """Table's word on one chunk; channels beyond its files carry nothing."""
        concurrency = min(parameters.concurrency or 1, self.active[index].files_left)
        return self.expectations[index].at(concurrency, parameters.parallelism or 1, parameters.pipelining or 1)

    @cached_property
    def in_force(self) -> tuple[Expected, ...]:
        """Table's word on each chunk at the setting in force."""
        return tuple(self.expected(i, chunk.parameters) for i, chunk in enumerate(self.active))

    def bare_rates(self) -> list[float]:
        """Rates of the chunks in force by their tables alone, sharing the pipe, bit/s."""
        lone = [expected.throughput_bps for expected in self.in_force]
        share = min(1.0, self._pipe_bps / sum(lone))
        return [rate * share for rate in lone]

    def expected_power_w(self) -> float | None:
        """Total power in force, W."""
        lone = sum(each.throughput_bps * gain for each, gain in zip(self.in_force, self._own_gains, strict=True))
        return self._power_w(self.in_force, min(1.0, self._pipe_bps / lone))

    def bare_power_w(self) -> float | None:
        """Total power in force by the tables alone, W."""
        watts = self.expected_power_w()
        return None if watts is None else watts / self._power_gain

    @property
    def most_bps(self) -> float:
        """What no choice of settings is expected to exceed: the pipe, under what was learned of the path."""
        return self._pipe_bps * self._path_gain

    def log_sd(self) -> float:
        """Spread that the tables state in force, the widest."""
        return max(expected.log_sd for expected in self.in_force)

    @cached_property
    def _path_sd(self) -> float:
        return self.belief.path.sd

    @cached_property
    def _path_gain(self) -> float:
        return math.exp(self.belief.path.mean)

    @cached_property
    def _power_gain(self) -> float:
        return math.exp(self.belief.power.mean)

    @cached_property
    def _own_gains(self) -> tuple[float, ...]:
        known = (self.belief.chunks.get(chunk.basis.kind) for chunk in self.active)
        if len(self.active) == 1:
            return (1.0,)
        return tuple(1.0 if own is None else math.exp(own.mean) for own in known)

    @cached_property
    def _pipe_bps(self) -> float:
        return max(expectation.fastest_bps for expectation in self.expectations)

    @cached_property
    def _bits(self) -> tuple[int, ...]:
        return tuple(BITS_PER_BYTE * chunk.remaining_bytes for chunk in self.active)

    @cached_property
    def _all_bits(self) -> int:
        return sum(self._bits)

    @cached_property
    def _alone_bps(self) -> tuple[float, ...]:
        """Of each chunk at its best, without the others."""
        return tuple(
            expectation.fastest_bps * own * self._path_gain
            for expectation, own in zip(self.expectations, self._own_gains, strict=True)
        )

    def _effective_bps(self, rates: Sequence[float]) -> float:
        total_bps = sum(rates)
        if len(rates) == 1:
            return total_bps
        bits = self._bits
        times_s = list(map(truediv, bits, rates))
        last = times_s.index(max(times_s))
        together_s = (self._all_bits - bits[last]) / (total_bps - rates[last])
        left_bits = bits[last] - rates[last] * together_s
        if left_bits <= 0:
            return min(total_bps, self._all_bits / together_s)
        return min(total_bps, self._all_bits / (together_s + left_bits / self._alone_bps[last]))

    def _power_w(self, found: Sequence[Expected], share: float) -> float | None:
        base_w = self.basis.idle_power_w or 0.0
        added_w = 0.0
        for expected in found:
            if expected.power_w is None:
                return None
            added_w += expected.power_w - base_w
        kept = share if len(found) > 1 else 1.0
        return (base_w + kept * added_w) * self._power_gain


def forecaster(basis: Basis, active: tuple[ActiveChunk, ...], belief: Belief, z: float) -> Forecaster | None:
    """A forecaster, or ``None`` where a chunk has no table."""
    expectations = tuple(expectation for chunk in active if (expectation := chunk.basis.expectation) is not None)
    if not active or len(expectations) < len(active):
        return None
    return Forecaster(basis, active, expectations, belief, z)
