"""What chunks that share one pipe reach together at untried settings, by their tables corrected by the belief.

Notation
--------
T̂_k(x_k)  table's rate of chunk k alone, bit/s; times exp(d_k) with what was learned of the chunk
C         pipe: the most that any chunk's table reaches
f         min(1, C / Σ T̂_k · exp(d_k)), the share of its lone rate that a chunk keeps
T         exp(g) · f · Σ T̂_k · exp(d_k), all chunks together
T_e       8 · remaining bytes / time until all are done, if each goes on at its rate until the one that takes longest is
          alone, and that one at its best from then on; at most T
P         P_b + f · Σ (P̂_k − P̂_b): each adds to the base in proportion to what it moves, and P̂_b is the base that the
          table was made over. Times exp(h), but for what the SLA's energy basis leaves out

T_e is what SLAs are on: a plan that starves a chunk that cannot catch up alone is slow, however full the pipe.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from tradewind.parameters import Caps, Parameters
from tradewind.sla.kinds import EnergyBasis
from tradewind.tuning.bank import compute_above_base_w, compute_energy_per_byte
from tradewind.tuning.basis import Basis, ChunkBasis
from tradewind.tuning.expectation import Candidates, Expectation, ExpectedPerformance
from tradewind.tuning.limits import SettingLimits
from tradewind.tuning.path.belief import Belief
from tradewind.tuning.resources import HostResources
from tradewind.units import BITS_PER_BYTE

UNTRIED_SHARE = 0.25
"""Share of a table's log sd that differs between its settings: g says nothing of it for an untried setting."""


class ActiveChunk(NamedTuple):
    """A chunk with bytes left: its basis, its current setting and rate, and what is left of it."""

    basis: ChunkBasis
    parameters: Parameters
    throughput_bps: float
    remaining_bytes: int
    files_left: int


class Outlook(NamedTuple):
    """What all chunks together are expected to reach with one choice of settings.

    ``low_bps`` : throughput that is exceeded with the SLA's confidence. ``power_w`` and ``j_per_byte`` are on the
    SLA's energy basis, ``None`` where power is not known.
    """

    throughput_bps: float
    low_bps: float
    power_w: float | None
    j_per_byte: float | None
    streams: int


class Forecaster:
    """Outlooks at one moment of a transfer.

    ``z`` is the quantile of the SLA's confidence, ``expected_now`` the tables' expectation of each chunk at its current
    setting, ``pipe_bps`` is C, ``bits`` what is left of each chunk, and ``alone_bps`` what each chunk reaches at its
    best alone. ``is_hypothetical`` : the transfer runs with other resources, so that no setting has been tried.
    """

    def __init__(
        self,
        basis: Basis,
        active: tuple[ActiveChunk, ...],
        expectations: tuple[Expectation, ...],
        expected_now: tuple[ExpectedPerformance, ...],
        *,
        belief: Belief,
        z: float,
        is_hypothetical: bool = False,
    ) -> None:
        self.is_hypothetical = is_hypothetical
        self.basis, self.active, self.expectations, self.expected_now = basis, active, expectations, expected_now
        self.belief, self.z = belief, z
        self.path_sd, self.path_gain = belief.path.sd, math.exp(belief.path.mean)
        self.power_gain = math.exp(belief.power.mean)
        self.own_gains = _list_own_gains(active, belief)
        self.base_w = basis.idle_power_w or 0.0
        self.bases_w = [_compute_base_of_table_w(chunk.basis, self.base_w) for chunk in active]
        fastest_bps = [expectation.fastest_bps for expectation in expectations]
        self.pipe_bps = max(fastest_bps)
        self.bits = [BITS_PER_BYTE * chunk.remaining_bytes for chunk in active]
        self.all_bits = sum(self.bits)
        self.alone_bps = [bps * own * self.path_gain for bps, own in zip(fastest_bps, self.own_gains, strict=True)]

    def with_belief(self, belief: Belief) -> "Forecaster":
        """Return a forecaster of the same moment with another belief."""
        return Forecaster(self.basis, self.active, self.expectations, self.expected_now, belief=belief, z=self.z)

    def list_with_other_resources(self, caps: Caps) -> "list[Forecaster]":
        """Return a forecaster for each choice of cores and frequency that all chunks' tables know and ``caps`` permit.

        All chunks of a transfer run on the same host, and so with the same resources.
        """
        listed = [
            chunk.basis.list_other_resources(HostResources.of(chunk.parameters), self.basis.adjustable)
            for chunk in self.active
        ]
        common = [each for each in listed[0] if each.are_within(caps) and all(each in others for others in listed[1:])]
        found = []
        for resources in common:
            active = tuple(chunk._replace(parameters=resources.apply_to(chunk.parameters)) for chunk in self.active)
            other = build_forecaster(self.basis, active, self.belief, self.z, is_hypothetical=True)
            if other is not None:
                found.append(other)
        return found

    def predict_outlook(self, found: Sequence[ExpectedPerformance], streams: int, *, tried: bool = False) -> Outlook:
        """Return the outlook where each chunk alone would reach ``found``; ``tried`` if these are the current
        settings.
        """
        return self.vary_chunk(found, 0).predict_outlook(found[0], streams, tried=tried)

    def vary_chunk(self, found: Sequence[ExpectedPerformance], index: int) -> "ChunkForecaster":
        """Return a forecaster of one chunk's options while the others perform as in ``found``."""
        lone = [expected.throughput_bps * gain for expected, gain in zip(found, self.own_gains, strict=True)]
        others = [i for i in range(len(found)) if i != index]
        return ChunkForecaster(
            self,
            index,
            others_bps=sum(lone[i] for i in others),
            others_bits=sum(self.bits[i] for i in others),
            others_w=sum((found[i].power_w or 0.0) - self.bases_w[i] for i in others),
            others_sd=max((found[i].log_sd for i in others), default=0.0),
            others_know_power=all(found[i].power_w is not None for i in others),
            last=max(((self.bits[i] / lone[i], lone[i], i) for i in others), default=None),
        )

    def predict_performance(self, index: int, parameters: Parameters) -> ExpectedPerformance:
        """Return the table's expectation of one chunk; channels beyond its files carry nothing."""
        return _predict_performance(self.expectations[index], parameters, self.active[index].files_left)

    def compute_table_rates_bps(self) -> list[float]:
        """Return the rates of the chunks at their current settings by the tables alone, sharing the pipe, bit/s."""
        lone = [expected.throughput_bps for expected in self.expected_now]
        share = min(1.0, self.pipe_bps / sum(lone))
        return [rate * share for rate in lone]

    def predict_power_w(self) -> float | None:
        """Return the expected total power at the current settings, W."""
        lone = sum(each.throughput_bps * gain for each, gain in zip(self.expected_now, self.own_gains, strict=True))
        return self._compute_power_w(self.expected_now, min(1.0, self.pipe_bps / lone))

    def compute_table_power_w(self) -> float | None:
        """Return the power at the current settings on the SLA's energy basis by the tables alone, W."""
        watts = self.predict_power_w()
        return None if watts is None else (watts - self.idle_w) / self.power_gain

    @property
    def max_bps(self) -> float:
        """Return an upper bound of the throughput of any settings: the pipe, corrected by the belief."""
        return self.pipe_bps * self.path_gain

    @property
    def max_sure_bps(self) -> float:
        """Return the upper bound of any setting's throughput at the SLA's confidence."""
        return self.max_bps * math.exp(-self.z * self.path_sd)

    def compute_least_j_per_byte(self, limits: SettingLimits) -> float | None:
        """Return what no choice of settings is expected to go below on the SLA's energy basis; ``None`` if unknown.

        P / T ≥ P_b / C + min over chunks and settings of (P̂_k − P̂_b) / (T̂_k · exp(d_k)), the least of the parts. For
        a chunk alone the least of all is known. Limits that chunks share make a room depend on the others: unknown.
        """
        if limits.share_a_cap:
            return None
        settings = [chunk.parameters for chunk in self.active]
        rooms = [
            expectation.list_candidates(limits.compute_room(settings, i))
            for i, expectation in enumerate(self.expectations)
        ]
        if len(rooms) == 1:
            least = rooms[0].find_least_j_per_bit(self.bases_w[0] - self.base_w + self.idle_w)
        else:
            parts = [each.find_least_j_per_bit(base_w) for each, base_w in zip(rooms, self.bases_w, strict=True)]
            known = [part / gain for part, gain in zip(parts, self.own_gains, strict=True) if part is not None]
            least = (self.base_w - self.idle_w) / self.pipe_bps + min(known) if len(known) == len(parts) else None
        return None if least is None else BITS_PER_BYTE * least * self.power_gain / self.path_gain

    def find_widest_log_sd(self) -> float:
        """Return the widest log sd that the tables state for the current settings."""
        return max(expected.log_sd for expected in self.expected_now)

    @property
    def idle_w(self) -> float:
        """Return the power that the SLA's energy basis leaves out."""
        return self.base_w if self.basis.sla.energy_basis is EnergyBasis.DYNAMIC else 0.0

    def _compute_power_w(self, found: Sequence[ExpectedPerformance], share: float) -> float | None:
        added_w = 0.0
        for expected, base_w in zip(found, self.bases_w, strict=True):
            if expected.power_w is None:
                return None
            added_w += expected.power_w - base_w
        return self.compute_total_w(added_w if len(found) == 1 else share * added_w)

    def compute_total_w(self, added_w: float) -> float:
        """Return the total power where the tables say that so much is added to the base, W."""
        return self.idle_w + (self.base_w - self.idle_w + added_w) * self.power_gain


class ChunkForecaster:
    """Outlooks of one chunk's options with the others held: what does not depend on the option is computed once.

    ``others_bps`` : Σ T̂_k · exp(d_k) of the others; ``others_w`` : Σ (P̂_k − P̂_b). ``last`` : of the one that takes
    longest of them, its bits left over its lone rate, that rate, and its place.
    """

    def __init__(
        self,
        forecaster: Forecaster,
        index: int,
        *,
        others_bps: float,
        others_bits: int,
        others_w: float,
        others_sd: float,
        others_know_power: bool,
        last: tuple[float, float, int] | None,
    ) -> None:
        self._view, self._index = forecaster, index
        self._others_bps, self._others_bits = others_bps, others_bits
        self._others_w, self._others_sd, self._others_know_power = others_w, others_sd, others_know_power
        self._last = last

    def predict_outlook(self, own: ExpectedPerformance, streams: int, *, tried: bool = False) -> Outlook:
        """Return the outlook where this chunk alone would reach ``own``; ``streams`` counts all chunks."""
        view = self._view
        rate = own.throughput_bps * view.own_gains[self._index]
        lone = self._others_bps + rate
        share = 1.0 if lone <= view.pipe_bps else view.pipe_bps / lone
        throughput_bps = self._compute_effective_bps(rate, lone, share * view.path_gain)
        sd = view.path_sd if tried else math.hypot(view.path_sd, UNTRIED_SHARE * max(own.log_sd, self._others_sd))
        low_bps = throughput_bps * math.exp(-view.z * sd)
        if own.power_w is None or not self._others_know_power:
            return Outlook(throughput_bps, low_bps, None, None, streams)
        added_w = self._others_w + own.power_w - view.bases_w[self._index]
        power_w = view.compute_total_w(added_w if self._last is None else share * added_w)
        on_basis_w = compute_above_base_w(view.basis, power_w)
        j_per_byte = compute_energy_per_byte(view.basis, throughput_bps=throughput_bps, power_w=power_w)
        return Outlook(throughput_bps, low_bps, on_basis_w, j_per_byte, streams)

    def _compute_effective_bps(self, rate: float, lone: float, served_share: float) -> float:
        """Return T_e; ``served_share`` is the part of its lone rate that each chunk has. Times here ignore it."""
        total_bps = lone * served_share
        if self._last is None:
            return total_bps
        view = self._view
        latest, last_bps, last = self._last
        bits = view.bits[self._index]
        if bits > latest * rate:
            last_bps, last = rate, self._index
            together = self._others_bits / self._others_bps
        else:
            together = (view.all_bits - view.bits[last]) / (lone - last_bps)
        left_bits = view.bits[last] - last_bps * together
        if left_bits <= 0:
            return min(total_bps, view.all_bits * served_share / together)
        return min(
            total_bps, view.all_bits * served_share / (together + left_bits * served_share / view.alone_bps[last])
        )

    def predict_throughputs_bps(self, candidates: Candidates) -> list[float]:
        """Return T_e of each candidate, as `predict_outlook` would, fast enough for a hundred of them a tick."""
        return [bps for bps, _ in self._list_rates_and_shares(candidates)]

    def predict_j_per_byte(self, candidates: Candidates) -> list[float]:
        """Return the energy of a byte of each candidate, J; power must be known."""
        view = self._view
        base_w, added_w = view.base_w - view.idle_w, self._others_w - view.bases_w[self._index]
        factor = BITS_PER_BYTE * view.power_gain
        return [
            factor * (base_w + share * (added_w + power_w)) / bps
            for (bps, share), power_w in zip(self._list_rates_and_shares(candidates), candidates.powers_w, strict=True)
        ]

    def _list_rates_and_shares(self, candidates: Candidates) -> list[tuple[float, float]]:
        """Return T_e and f of each candidate, without a function call for each."""
        view, index = self._view, self._index
        pipe_bps, path_gain = view.pipe_bps, view.path_gain
        if self._last is None:
            return [(min(rate, pipe_bps) * path_gain, 1.0) for rate in candidates.rates_bps]
        gain, bits, alone_bps = view.own_gains[index], view.bits[index], view.alone_bps[index]
        all_bits, others_bps = view.all_bits, self._others_bps
        latest, last_bps, last = self._last
        last_bits, last_alone_bps = view.bits[last], view.alone_bps[last]
        others_s, longest_bits = self._others_bits / others_bps, all_bits - last_bits
        found = []
        for lone_bps in candidates.rates_bps:
            rate = lone_bps * gain
            lone = others_bps + rate
            share = 1.0 if lone <= pipe_bps else pipe_bps / lone
            served_share = share * path_gain
            if bits > latest * rate:
                together, left_s = others_s, (bits - rate * others_s) / alone_bps
            else:
                together = longest_bits / (lone - last_bps)
                left_s = (last_bits - last_bps * together) / last_alone_bps
            bps = all_bits * served_share / (together + left_s * served_share if left_s > 0 else together)
            total_bps = lone * served_share
            found.append((min(total_bps, bps), share))
        return found


def build_forecaster(
    basis: Basis, active: tuple[ActiveChunk, ...], belief: Belief, z: float, *, is_hypothetical: bool = False
) -> Forecaster | None:
    """Return a forecaster by the tables' settings with the chunks' resources; ``None`` where a chunk has no table."""
    found = (chunk.basis.expect(HostResources.of(chunk.parameters)) for chunk in active)
    expectations = tuple(expectation for expectation in found if expectation is not None)
    if not active or len(expectations) < len(active):
        return None
    expected_now = [
        _predict_performance(expectation, chunk.parameters, chunk.files_left)
        for expectation, chunk in zip(expectations, active, strict=True)
    ]
    return Forecaster(
        basis, active, expectations, tuple(expected_now), belief=belief, z=z, is_hypothetical=is_hypothetical
    )


def _compute_base_of_table_w(chunk: ChunkBasis, base_w: float) -> float:
    """Return the base power that a chunk's table assumes; ``base_w`` where the table does not state it."""
    stated = None if chunk.table is None else chunk.table.predicted.base_power_w
    return base_w if stated is None else stated


def _list_own_gains(active: Sequence[ActiveChunk], belief: Belief) -> tuple[float, ...]:
    """Return exp(d_k) of each chunk; 1 for a chunk that is alone, whatever was learned before."""
    if len(active) == 1:
        return (1.0,)
    known = [belief.chunks.get(chunk.basis.kind) for chunk in active]
    return tuple([1.0 if own is None else math.exp(own.mean) for own in known])


def _predict_performance(expectation: Expectation, parameters: Parameters, files_left: int) -> ExpectedPerformance:
    concurrency = min(parameters.concurrency or 1, files_left)
    return expectation.predict_performance(concurrency, parameters.parallelism or 1, parameters.pipelining or 1)
