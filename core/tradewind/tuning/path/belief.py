"""How far the path currently differs from its table: Kalman filters on log-gains.

Notation
--------
T̂_k(x)  what the table of chunk k expects at setting x, bit/s
T_k     = T̂_k(x) · exp(g + d_k)
g       log-gain of the path, shared by all chunks: load, time of day, an optimistic table
d_k     what chunk k differs beyond that; 0 for a transfer of one chunk
h       log-gain of the hosts' power on the SLA's energy basis, likewise

Each is a random walk seen through noise: prior variance + q a tick, then v = y − mean, S = variance + r,
mean += variance/S · v, variance ·= r/S. The noise r is learned from the innovations themselves.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from tradewind.dataset import ChunkKind

DRIFT = 0.02
"""sd of a gain's walk within a tick."""

FIRST_NOISE = 0.08
"""sd of ln throughput between ticks of 5 s before it is learned: TCP in steady state shows 5 to 10 %."""

MIN_NOISE = 0.03
_NOISE_MEMORY = 0.9
_OUTLIER_SD = 3.0
"""An innovation counts towards the noise up to this many sd, so that a changed path is not mistaken for noise."""

CHUNK_PRIOR_SD = 0.3
"""Spread of d_k: chunks share the path, so that they differ less than the table's own sd."""

POWER_PRIOR_SD = 0.3


class Measurement(NamedTuple):
    """A log-gain that one tick showed, and the variance of its noise."""

    value: float
    noise_variance: float


class Gain(NamedTuple):
    """Gaussian posterior of a log-gain."""

    mean: float
    variance: float

    @property
    def sd(self) -> float:
        return math.sqrt(self.variance)

    def update(self, value: float, noise_variance: float) -> "Gain":
        """Return the posterior after one tick that showed the gain ``value``."""
        prior = self.variance + DRIFT**2
        share = prior / (prior + noise_variance)
        return Gain(self.mean + share * (value - self.mean), (1 - share) * prior)

    def standardise(self, value: float, noise_variance: float) -> float:
        """Return the innovation of ``value`` in standard deviations, before it is learned."""
        return (value - self.mean) / math.sqrt(self.variance + DRIFT**2 + noise_variance)

    def reopen(self, sd: float) -> "Gain":
        """Return the same mean, with an sd of at least ``sd``: after a change."""
        return Gain(self.mean, max(self.variance, sd**2))


@dataclass(frozen=True, slots=True)
class Belief:
    """Posteriors of the path's gain, of each chunk's own part and of the power's, with the noise of a tick (variance).

    ``ticks`` counts what has been learned since the start or the last change.
    """

    path: Gain
    chunks: Mapping[ChunkKind, Gain] = field(default_factory=dict)
    power: Gain = field(default_factory=lambda: Gain(0.0, POWER_PRIOR_SD**2))
    noise: float = FIRST_NOISE**2
    ticks: int = 0

    def compute_surprise(self, log_ratio: float, extra_variance: float) -> float:
        """Return the standardised innovation of ln(measured / expected by the table) of the entire transfer."""
        return self.path.standardise(log_ratio, self.noise + extra_variance)

    def update(
        self,
        log_ratio: float,
        chunk_ratios: Mapping[ChunkKind, float],
        extra_variance: float,
        power: "Measurement | None" = None,
    ) -> Self:
        """Return the belief after a tick with ln(measured / table) of the transfer and of each chunk, and its power.

        ``extra_variance`` widens a tick that is known to be poor, such as one with slow start in it.
        """
        noise = self.noise + extra_variance
        innovation = log_ratio - self.path.mean
        heard = min(innovation**2, _OUTLIER_SD**2 * self.noise)
        path = self.path.update(log_ratio, noise)
        own = dict(self.chunks)
        if len(chunk_ratios) > 1:
            for kind, ratio in chunk_ratios.items():
                known = own.get(kind, Gain(0.0, CHUNK_PRIOR_SD**2))
                own[kind] = known.update(ratio - log_ratio, noise)
        is_comparable = self.ticks > 0 and extra_variance < self.noise
        learned_noise = _NOISE_MEMORY * self.noise + (1 - _NOISE_MEMORY) * heard if is_comparable else self.noise
        return type(self)(
            path=path,
            chunks=own,
            power=self.power if power is None else self.power.update(*power),
            noise=max(learned_noise, MIN_NOISE**2),
            ticks=self.ticks + 1,
        )

    def widen(self, sd: float) -> Self:
        """Return the belief after a change of settings: the table may be wrong by ``sd`` from one to the other."""
        return replace(self, path=Gain(self.path.mean, self.path.variance + sd**2))

    def reopen(self, sd: float) -> Self:
        """Return the belief after a change of the path: what was learned counts for little, the noise stays."""
        return replace(self, path=self.path.reopen(sd), ticks=0)


def build_prior_belief(table_log_sd: float) -> Belief:
    """Return the belief before the first byte: the table, as certain as it states."""
    return Belief(path=Gain(0.0, table_log_sd**2))
