"""What a compact table expects of any setting, including settings between its entries."""

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from tradewind.parameters import Parameters
from tradewind.prediction import PredictedSetting
from tradewind.tiers.setting_table import SettingTable
from tradewind.tuning.limits import Point, Room, SettingLimits, limit_requests
from tradewind.tuning.resources import ANY_RESOURCES, HostResources

RELAXATION = 0.015
"""Share of the throughput that may be given up for fewer streams (HARP's parameter relaxation)."""

NEIGHBOURS = 4
"""Entries that a setting between them is interpolated from: the corners of its cell in two axes."""


MAX_CACHED = 1_000
"""Interpolated settings that are cached: a search looks up the same ones tick after tick."""

MAX_ROOMS = 32
"""Rooms whose candidates are cached: consecutive ticks share one, a search passes through a few."""


class ExpectedPerformance(NamedTuple):
    """A chunk alone on the path: median throughput, bit/s, the sd of its log, and median power, W."""

    throughput_bps: float
    log_sd: float
    power_w: float | None


class Candidate(NamedTuple):
    """A setting that may be chosen, and its expected performance."""

    point: Point
    streams: int
    expected: ExpectedPerformance


@dataclass(frozen=True)
class Candidates:
    """The settings that may be chosen within one room."""

    all: tuple[Candidate, ...]

    @cached_property
    def knows_power(self) -> bool:
        return all(candidate.expected.power_w is not None for candidate in self.all)

    @cached_property
    def rates_bps(self) -> tuple[float, ...]:
        return tuple(candidate.expected.throughput_bps for candidate in self.all)

    @cached_property
    def powers_w(self) -> tuple[float, ...]:
        """Return the power of each candidate, W; 0 where it is not known."""
        return tuple(candidate.expected.power_w or 0.0 for candidate in self.all)

    @cached_property
    def fastest(self) -> Candidate:
        """Return the candidate with the fewest streams among those within `RELAXATION` of the maximum."""
        enough = (1 - RELAXATION) * max(candidate.expected.throughput_bps for candidate in self.all)
        relaxed = [candidate for candidate in self.all if candidate.expected.throughput_bps >= enough]
        return min(relaxed, key=lambda each: (each.streams, -each.expected.throughput_bps))

    def find_least_j_per_bit(self, base_power_w: float) -> float | None:
        """Return the least energy of a bit above ``base_power_w``, J; ``None`` where power is not known."""
        if not self.knows_power:
            return None
        if base_power_w not in self._least_j_per_bit:
            self._least_j_per_bit.clear()
            least = min(
                (power_w - base_power_w) / rate for rate, power_w in zip(self.rates_bps, self.powers_w, strict=True)
            )
            self._least_j_per_bit[base_power_w] = least
        return self._least_j_per_bit[base_power_w]

    _least_j_per_bit: dict[float, float] = field(default_factory=dict, init=False, repr=False, compare=False)


@dataclass(frozen=True)
class Expectation:
    """A table prepared for lookups, once a transfer: all of it, or its settings with some ``resources`` alone."""

    table: SettingTable
    resources: HostResources = ANY_RESOURCES
    _candidates: dict[Room, Candidates] = field(default_factory=dict, init=False, repr=False, compare=False)
    _between: dict[Point, ExpectedPerformance] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def _settings(self) -> tuple[PredictedSetting, ...]:
        if self.resources == ANY_RESOURCES:
            return self.table.settings
        return tuple(setting for setting in self.table.settings if self.resources.includes(setting.parameters))

    @cached_property
    def entries(self) -> Mapping[Point, ExpectedPerformance]:
        """Return the entries by (cc, p, pp); of entries that differ only in fixed axes, the fastest."""
        entries: dict[Point, ExpectedPerformance] = {}
        for setting in self._settings:
            power = setting.log_power_mean
            expected = ExpectedPerformance(
                math.exp(setting.log_throughput_mean),
                setting.log_throughput_sd,
                None if power is None else math.exp(power),
            )
            point = to_point(setting.parameters)
            if expected.throughput_bps > entries.get(point, expected).throughput_bps or point not in entries:
                entries[point] = expected
        return entries

    @cached_property
    def is_certified(self) -> bool:
        """Return whether logs of this path support any entry."""
        return any(setting.certified for setting in self._settings)

    @cached_property
    def chosen_from(self) -> tuple[Point, ...]:
        """Return the entries that logs support, or all where logs support none."""
        certified = [to_point(setting.parameters) for setting in self._settings if setting.certified]
        return tuple(dict.fromkeys(certified)) or tuple(self.entries)

    @cached_property
    def fastest(self) -> Point:
        return max(self.chosen_from, key=lambda point: self.entries[point].throughput_bps)

    def list_points(self, room: Room) -> list[Point]:
        """Return the points to choose from: permitted ones, and the fastest one cut to the limits.

        Pipelining is cut to what the files allow. Each point is returned once: with few files left, many entries differ
        in pipelining alone.
        """
        points = [point for point in self.chosen_from if room.allows(point)]
        return list(dict.fromkeys(room.with_requests(point) for point in (*points, room.cut(self.fastest))))

    def list_candidates(self, room: Room) -> Candidates:
        """Return the same points with their expected performance; cached, since every tick needs it."""
        room = room.narrow_to(self._widest)
        if (known := self._candidates.get(room)) is None:
            found = tuple(
                Candidate(point, point[0] * point[1], self.predict_performance(*point))
                for point in self.list_points(room)
            )
            if len(self._candidates) >= MAX_ROOMS:
                self._candidates.clear()
            known = self._candidates[room] = Candidates(found)
        return known

    def keeps_requests(self, limits: SettingLimits, files: int, most_files: int) -> bool:
        """Return whether ``files`` cut no point's pipelining further than ``most_files`` did.

        A cap, or too few files, may cut the fastest to any number of channels.
        """
        concurrency, _, pipelining = self.fastest
        pairs = self._requests
        if limits.share_a_cap or files < concurrency:
            pairs |= {(channels, pipelining) for channels in range(1, concurrency)}
        cap = limits.caps.pipelining or max(pp for _, pp in pairs)
        return all(
            limit_requests(min(pp, cap), cc, files) == limit_requests(min(pp, cap), cc, most_files)
            for cc, pp in pairs
            if cc <= files < cc * pp
        )

    @cached_property
    def _requests(self) -> frozenset[tuple[int, int]]:
        """Return (cc, pp) of the entries to choose from; few files cut pp."""
        return frozenset((cc, pp) for cc, _, pp in self.chosen_from)

    @cached_property
    def _widest(self) -> Point:
        concurrency, parallelism, pipelining = zip(*self.entries, strict=True)
        return (max(concurrency), max(parallelism), max(pipelining))

    @cached_property
    def fastest_bps(self) -> float:
        return self.entries[self.fastest].throughput_bps

    @cached_property
    def _knows_power(self) -> bool:
        return all(expected.power_w is not None for expected in self.entries.values())

    @cached_property
    def _doublings(self) -> tuple[tuple[tuple[float, ...], ExpectedPerformance], ...]:
        return tuple((_compute_doublings(point), expected) for point, expected in self.entries.items())

    def predict_performance(self, concurrency: int, parallelism: int, pipelining: int) -> ExpectedPerformance:
        """Return the expected performance at any setting: its entry, else its nearest four by inverse squared distance.

        Distances are in doublings of cc, p and pp + 1; means are geometric. Outside the table the nearest edge holds.
        """
        point = (concurrency, parallelism, pipelining)
        known = self.entries.get(point) or self._between.get(point)
        if known is not None:
            return known
        if len(self._between) >= MAX_CACHED:
            self._between.clear()
        return self._between.setdefault(point, self._interpolate(point))

    def _interpolate(self, point: Point) -> ExpectedPerformance:
        here = _compute_doublings(point)
        nearest = heapq.nsmallest(NEIGHBOURS, self._doublings, key=lambda entry: math.dist(entry[0], here))
        weights = [1.0 / math.dist(there, here) ** 2 for there, _ in nearest]
        found = [expected for _, expected in nearest]
        return ExpectedPerformance(
            _compute_geometric_mean([each.throughput_bps for each in found], weights),
            sum(w * each.log_sd for w, each in zip(weights, found, strict=True)) / sum(weights),
            _compute_geometric_mean([each.power_w or 1.0 for each in found], weights) if self._knows_power else None,
        )


def to_point(parameters: Parameters) -> Point:
    """Return a setting's place in a table; an unknown value counts as 1."""
    return (parameters.concurrency or 1, parameters.parallelism or 1, parameters.pipelining or 1)


def _compute_doublings(point: Point) -> tuple[float, ...]:
    concurrency, parallelism, pipelining = point
    return (math.log2(concurrency), math.log2(parallelism), math.log2(pipelining + 1))


def _compute_geometric_mean(values: list[float], weights: list[float]) -> float:
    logs = sum(weight * math.log(value) for weight, value in zip(weights, values, strict=True))
    return math.exp(logs / sum(weights))
