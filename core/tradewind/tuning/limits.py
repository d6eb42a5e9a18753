"""Limits that every decision respects: files left, caps and congestion, on channels, streams and pipelining.

Streams are given up or gained along one axis first. Loss is eased by fewer files at once (concurrency), a long queue by
fewer streams a file (parallelism), as GreenDataFlow §IV-B has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from tradewind.parameters import Caps, Parameters

Point: TypeAlias = tuple[int, int, int]
"""(cc, p, pp): the axes that can change while a transfer runs."""


class First(StrEnum):
    """The axis that is reduced first."""

    CONCURRENCY = "concurrency"
    PARALLELISM = "parallelism"


FINE_STREAMS = 8
"""Of so few, one more or less is much: transfers that share a path meet only as nearly as their steps are fine."""

MAX_PARALLELISM = 16
"""Streams of one file that are tried beyond the plan; most tools accept no more."""


@dataclass(frozen=True, slots=True)
class SettingLimits:
    """``caps`` of the entire transfer, ``files`` left in each chunk, ``streams`` that congestion permits in total."""

    caps: Caps
    files: tuple[int, ...]
    streams: int | None = None

    @property
    def max_streams(self) -> int | None:
        known = [each for each in (self.caps.streams, self.streams) if each is not None]
        return max(min(known), len(self.files)) if known else None

    def permits(self, settings: Sequence[Parameters]) -> bool:
        """Return whether the settings need no cut."""
        for setting, files in zip(settings, self.files, strict=True):
            channels, pipelining = setting.concurrency or 0, setting.pipelining
            if not 1 <= channels <= files or not self.caps.allow(setting):
                return False
            if pipelining is not None and pipelining > 1 and pipelining * channels > files:
                return False
        most_channels, max_streams = self.caps.concurrency, self.max_streams
        return (most_channels is None or _count_channels(settings) <= most_channels) and (
            max_streams is None or sum(setting.streams for setting in settings) <= max_streams
        )

    def are_within(self, other: "SettingLimits") -> bool:
        """Return whether the other limits permit everything that these permit, for as many chunks."""
        caps, others = self.caps, other.caps
        return (
            all(files <= most for files, most in zip(self.files, other.files, strict=True))
            and _is_within(caps.concurrency, others.concurrency)
            and _is_within(caps.parallelism, others.parallelism)
            and _is_within(caps.pipelining, others.pipelining)
            and _is_within(self.max_streams, other.max_streams)
        )

    @property
    def share_a_cap(self) -> bool:
        """Return whether one chunk's limits depend on the others' settings."""
        return self.caps.concurrency is not None or self.max_streams is not None

    def compute_room(self, settings: Sequence[Parameters], index: int) -> "Room":
        """Return what is left for one chunk if the others keep their settings."""
        files, most = self.files[index], self.max_streams
        if not self.share_a_cap:
            return Room(files, self.caps.parallelism, self.caps.pipelining, None, files)
        others = [setting for i, setting in enumerate(settings) if i != index]
        channels = (
            files if self.caps.concurrency is None else min(files, self.caps.concurrency - _count_channels(others))
        )
        return Room(
            channels=max(channels, 1),
            parallelism=self.caps.parallelism,
            pipelining=self.caps.pipelining,
            streams=None if most is None else max(most - sum(setting.streams for setting in others), 1),
            files=files,
        )

    def count_channels(self) -> tuple[int, ...]:
        """Return the most channels of each chunk: its files, or its part of the permitted channels."""
        return self.files if self.caps.concurrency is None else split_streams(self.files, self.caps.concurrency)


@dataclass(frozen=True, slots=True)
class Room:
    """Limits of one chunk: channels, streams a file, pipelining and streams at most, and its files left."""

    channels: int
    parallelism: int | None
    pipelining: int | None
    streams: int | None
    files: int

    def allows(self, point: Point) -> bool:
        concurrency, parallelism, pipelining = point
        return (
            concurrency <= self.channels
            and (self.parallelism is None or parallelism <= self.parallelism)
            and (self.pipelining is None or pipelining <= self.pipelining)
            and (self.streams is None or concurrency * parallelism <= self.streams)
        )

    def cut(self, point: Point) -> Point:
        """Return the nearest permitted point: each axis is cut, then parallelism is reduced before concurrency.

        Up to `FINE_STREAMS` none is left unused: they are as many files of one stream each.
        """
        concurrency, parallelism, pipelining = point
        concurrency = min(concurrency, self.channels, self.streams or concurrency)
        parallelism = min(parallelism, self.parallelism or parallelism)
        if self.streams is not None:
            most = min(self.streams, concurrency * parallelism)
            parallelism = max(1, min(parallelism, self.streams // concurrency))
            if concurrency * parallelism < most <= min(FINE_STREAMS, self.channels):
                concurrency, parallelism = most, 1
        return (concurrency, parallelism, min(pipelining, self.pipelining or pipelining))

    def narrow_to(self, point: Point) -> "Room":
        """Return the same room without what exceeds this point, since that makes no difference."""
        concurrency, _, pipelining = point
        channels, files = min(self.channels, concurrency), min(self.files, concurrency * pipelining)
        return Room(channels, self.parallelism, self.pipelining, self.streams, files)

    def with_requests(self, point: Point) -> Point:
        concurrency, parallelism, pipelining = point
        return (concurrency, parallelism, limit_requests(pipelining, concurrency, self.files))


def _is_within(cap: int | None, other: int | None) -> bool:
    return other is None or (cap is not None and cap <= other)


def limit_requests(pipelining: int, channels: int, files: int) -> int:
    """Cut pipelining so that each channel gets its part of the files; powers of two keep it from flapping."""
    part = max(files // channels, 1)
    return pipelining if pipelining <= part else 1 << (part.bit_length() - 1)


def fit_to_limits(
    settings: Sequence[Parameters], limits: SettingLimits, first: First = First.PARALLELISM
) -> tuple[Parameters, ...]:
    """Cut the settings to the limits: each by itself, then all in proportion to satisfy the sums.

    Every chunk keeps one channel, so that the sums hold if there are no more chunks than channels permitted.
    """
    if limits.permits(settings):
        return tuple(settings)
    cut = _list_streams_fitted(settings, limits, first)
    return tuple(_set_requests(setting, files) for setting, files in zip(cut, limits.files, strict=True))


def _set_requests(parameters: Parameters, files: int) -> Parameters:
    if parameters.pipelining is None:
        return parameters
    allowed = limit_requests(parameters.pipelining, parameters.concurrency or 1, files)
    return parameters if allowed == parameters.pipelining else replace(parameters, pipelining=allowed)


def _list_streams_fitted(settings: Sequence[Parameters], limits: SettingLimits, first: First) -> tuple[Parameters, ...]:
    permitted = [setting if limits.caps.allow(setting) else limits.caps.clamp(setting) for setting in settings]
    within = tuple(
        setting
        if 1 <= (setting.concurrency or 0) <= files
        else replace(setting, concurrency=min(setting.concurrency or 1, files))
        for setting, files in zip(permitted, limits.files, strict=True)
    )
    most_channels = limits.caps.concurrency
    if most_channels is not None and _count_channels(within) > most_channels:
        channels = split_streams([setting.concurrency or 1 for setting in within], most_channels)
        within = tuple(replace(setting, concurrency=count) for setting, count in zip(within, channels, strict=True))
    most = limits.max_streams
    if most is None or sum(setting.streams for setting in within) <= most:
        return within
    budgets = split_streams([setting.streams for setting in within], most)
    return tuple(
        fit_to_streams(setting, budget, files=files, caps=limits.caps, first=first)
        for setting, budget, files in zip(within, budgets, limits.files, strict=True)
    )


def split_streams(requested: Sequence[int], total: int) -> tuple[int, ...]:
    """Split ``total`` in proportion to ``requested``, at least one each, none above its request (largest remainder)."""
    count = len(requested)
    if sum(requested) <= total or total <= count:
        return tuple(requested) if sum(requested) <= total else (1,) * count
    spare, above = total - count, sum(requested_count - 1 for requested_count in requested)
    exact = [spare * (requested_count - 1) / above for requested_count in requested]
    dealt = [1 + int(share) for share in exact]
    by_remainder = sorted(range(count), key=lambda i: (-(exact[i] % 1), i))
    for i in by_remainder[: total - sum(dealt)]:
        dealt[i] += 1
    return tuple(dealt)


def compute_parallelism_limit(caps: Caps, now: int) -> int:
    """Return how many streams a file that has ``now`` may have."""
    return min(caps.parallelism or MAX_PARALLELISM, max(MAX_PARALLELISM, now))


def fit_to_streams(
    parameters: Parameters, streams: int, *, files: int, caps: Caps, first: First = First.CONCURRENCY
) -> Parameters:
    """Change the setting to at most ``streams`` streams, along ``first``, then along the other axis.

    By concurrency they are as near as they can be: where files with as many streams as now leave more of them unused
    than one file more with fewer streams each, it is these, and up to `FINE_STREAMS` as many files of one stream
    each; where it is out of files or caps, streams are gained by parallelism.
    """
    concurrency, parallelism = parameters.concurrency or 1, parameters.parallelism or 1
    most_channels = min(files, caps.concurrency or files)
    if first is First.PARALLELISM:
        parallelism = max(1, min(parallelism, streams // concurrency))
        concurrency = max(1, min(most_channels, concurrency, streams // parallelism))
        return replace(parameters, concurrency=concurrency, parallelism=parallelism)
    most_parallel = compute_parallelism_limit(caps, parallelism)
    parallelism = min(parallelism, max(streams, 1))
    concurrency = max(1, min(most_channels, streams // parallelism))
    if concurrency < most_channels:
        more = streams // (concurrency + 1)
        if (concurrency + 1) * more > concurrency * parallelism:
            concurrency, parallelism = concurrency + 1, more
    if concurrency * parallelism < streams <= min(FINE_STREAMS, most_channels):
        concurrency, parallelism = streams, 1
    if concurrency == most_channels:
        parallelism = max(1, min(most_parallel, streams // concurrency))
    return replace(parameters, concurrency=concurrency, parallelism=parallelism)


def _count_channels(settings: Sequence[Parameters]) -> int:
    return sum(setting.concurrency or 1 for setting in settings)
