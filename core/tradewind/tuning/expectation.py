"""What a compact table expects of any setting, those between its entries included."""

import heapq
import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tradewind.parameters import Parameters
from tradewind.selection import SettingTable

NEIGHBOURS = 4
"""Entries that a setting between them is interpolated from: the corners of its cell in two axes."""


class Expected(NamedTuple):
    """Of a chunk alone on the path: median throughput, bit/s, the sd of its log, and median power, W."""

    throughput_bps: float
    log_sd: float
    power_w: float | None


@dataclass(frozen=True)
class Expectation:
    """A table made ready for looking up, once a transfer."""

    table: SettingTable

    @cached_property
    def entries(self) -> tuple[tuple[Parameters, Expected], ...]:
        return tuple(
            (
                setting.parameters,
                Expected(
                    math.exp(setting.log_throughput_mean),
                    setting.log_throughput_sd,
                    None if setting.log_power_mean is None else math.exp(setting.log_power_mean),
                ),
            )
            for setting in self.table.settings
        )

    @cached_property
    def is_certified(self) -> bool:
        """Whether logs of this path stand behind any of it."""
        return any(setting.certified for setting in self.table.settings)

    @cached_property
    def knows_power(self) -> bool:
        return all(expected.power_w is not None for _, expected in self.entries)

    @cached_property
    def fastest_bps(self) -> float:
        return max(expected.throughput_bps for _, expected in self.entries)

    @cached_property
    def _exact(self) -> dict[tuple[int, int, int], Expected]:
        """The faster of entries that differ only in what a transfer cannot change while it runs."""
        exact: dict[tuple[int, int, int], Expected] = {}
        for parameters, expected in self.entries:
            kept = exact.setdefault(_triple(parameters), expected)
            if expected.throughput_bps > kept.throughput_bps:
                exact[_triple(parameters)] = expected
        return exact

    @cached_property
    def _points(self) -> tuple[tuple[tuple[float, ...], Expected], ...]:
        return tuple((_position(triple), expected) for triple, expected in self._exact.items())

    def at(self, parameters: Parameters) -> Expected:
        """Expectation at any cc, p and pp: the entry itself, else its nearest four by inverse squared distance.

        Distances are in octaves of cc, p and pp + 1, means are geometric; outside the table the nearest edge holds.
        """
        triple = _triple(parameters)
        if (known := self._exact.get(triple)) is not None:
            return known
        here = _position(triple)
        nearest = heapq.nsmallest(NEIGHBOURS, self._points, key=lambda point: math.dist(point[0], here))
        weights = [1.0 / math.dist(position, here) ** 2 for position, _ in nearest]
        found = [expected for _, expected in nearest]
        return Expected(
            _geometric_mean([each.throughput_bps for each in found], weights),
            sum(w * each.log_sd for w, each in zip(weights, found, strict=True)) / sum(weights),
            _geometric_mean([each.power_w or 1.0 for each in found], weights) if self.knows_power else None,
        )


def _triple(parameters: Parameters) -> tuple[int, int, int]:
    return (parameters.concurrency or 1, parameters.parallelism or 1, parameters.pipelining or 1)


def _position(triple: tuple[int, int, int]) -> tuple[float, ...]:
    concurrency, parallelism, pipelining = triple
    return (math.log2(concurrency), math.log2(parallelism), math.log2(pipelining + 1))


def _geometric_mean(values: list[float], weights: list[float]) -> float:
    logs = sum(weight * math.log(value) for weight, value in zip(weights, values, strict=True))
    return math.exp(logs / sum(weights))
