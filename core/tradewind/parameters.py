"""What is tuned: application-level parameters of a transfer, their integer lattice and their caps.

Concurrency (cc) is the number of files in flight, parallelism (p) the streams of one file, pipelining (pp) the requests
in flight on one connection (papers 001 §II, 002 §2). Total streams are cc · p.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product
from operator import attrgetter
from types import MappingProxyType
from typing import Self

from tradewind.errors import InvalidValue

AXES = ("concurrency", "parallelism", "pipelining", "cores", "frequency_hz", "io_block_bytes", "part_bytes")
"""Numeric parameters that surfaces may be fitted over, in their fixed order."""

_on_axes = attrgetter(*AXES)
_SETTING_AXES = ("concurrency", "parallelism", "pipelining")
_LOWEST = tuple((name, 0 if name == "pipelining" else 1) for name in (*AXES, "memory_bytes", "disk_bps", "nic_bps"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Settings of a transfer or of one chunk of it; ``None`` means unknown or left to the tool, never 1 or 0.

    ``part_bytes`` : size of the parts in which a large object goes to or comes from an object store.
    """

    concurrency: int | None = None
    parallelism: int | None = None
    pipelining: int | None = None
    io_block_bytes: int | None = None
    part_bytes: int | None = None
    cores: int | None = None
    frequency_hz: float | None = None
    memory_bytes: int | None = None
    disk_bps: float | None = None
    nic_bps: float | None = None
    codec: str | None = None
    congestion_control: str | None = None

    def __post_init__(self) -> None:
        for name, lowest in _LOWEST:
            value = getattr(self, name)
            if value is not None and not value >= lowest:
                raise InvalidValue(f"parameters.{name}", f"must be at least {lowest}, got {value}")

    @property
    def streams(self) -> int:
        """Connections opened at once, cc · p; unknown counts as one."""
        return (self.concurrency or 1) * (self.parallelism or 1)

    def list_known(self) -> dict[str, int | float | str]:
        """Return the parameters that are set, by wire name."""
        return {name: value for name, value in zip(_NAMES, _values(self), strict=True) if value is not None}


_NAMES = tuple(f.name for f in fields(Parameters))
_values = attrgetter(*_NAMES)
UNKNOWN_PARAMETERS = Parameters()
UNTUNED = Parameters(concurrency=1, parallelism=1, pipelining=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """Highest permitted values; ``None`` means no cap. Held by endpoints, links, tenants and single requests."""

    concurrency: int | None = None
    parallelism: int | None = None
    pipelining: int | None = None
    streams: int | None = None
    cores: int | None = None
    frequency_hz: float | None = None

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value is not None and value < 1:
                raise InvalidValue(f"limits.{f.name}", f"must be at least 1, got {value}")

    def tighten(self, other: Self) -> Self:
        """Return the stricter of both caps, axis by axis."""
        merged = {
            f.name: min((v for v in (getattr(self, f.name), getattr(other, f.name)) if v is not None), default=None)
            for f in fields(self)
        }
        return replace(self, **merged)

    @property
    def channels(self) -> int | None:
        """Return the most channels that may be open at once: the stricter of concurrency and streams."""
        if self.concurrency is None or self.streams is None:
            return self.concurrency if self.streams is None else self.streams
        return min(self.concurrency, self.streams)

    def take_part(self, share: float, chunks: int) -> Self:
        """Return a chunk's part of the caps that hold for all ``chunks`` together: one each, and its share of what is
        left.

        Parts add up to no more than the cap, which must be at least the number of chunks.
        """
        if chunks == 1:
            return self

        def divide(cap: int | None) -> int | None:
            return None if cap is None else 1 + math.floor((cap - chunks) * share)

        return replace(self, concurrency=divide(self.concurrency), streams=divide(self.streams))

    def allow(self, parameters: Parameters) -> bool:
        """Return whether ``parameters`` stay within every cap; unknown values count as one."""
        return (
            (self.streams is None or parameters.streams <= self.streams)
            and (self.concurrency is None or (parameters.concurrency or 1) <= self.concurrency)
            and (self.parallelism is None or (parameters.parallelism or 1) <= self.parallelism)
            and (self.pipelining is None or (parameters.pipelining or 1) <= self.pipelining)
            and (self.cores is None or (parameters.cores or 1) <= self.cores)
            and (self.frequency_hz is None or (parameters.frequency_hz or 1) <= self.frequency_hz)
        )

    def clamp(self, parameters: Parameters) -> Parameters:
        """Return the nearest permitted setting: each axis cut, then parallelism given up before concurrency for the
        streams.

        A clamped optimum is not an optimum: use it only where no lattice can be solved again.
        """
        cut = {
            axis: min(value, cap)
            for axis in (*_SETTING_AXES, "cores", "frequency_hz")
            if (value := getattr(parameters, axis)) is not None and (cap := getattr(self, axis)) is not None
        }
        result = replace(parameters, **cut)
        if self.streams is None or result.streams <= self.streams:
            return result
        concurrency = min(result.concurrency or 1, self.streams)
        return replace(result, concurrency=concurrency, parallelism=max(1, self.streams // concurrency))


NO_CAPS = Caps()

_STEPS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "concurrency": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64),
        "parallelism": (1, 2, 3, 4, 6, 8, 12, 16),
        "pipelining": (0, 1, 2, 4, 8, 16, 32, 64, 100),
    }
)


def build_parameters(values: Mapping[str, float]) -> Parameters:
    """Return the parameters of raw values by axis; what is NaN is not known."""
    known = {axis: value for axis, value in values.items() if math.isfinite(value)}
    return Parameters(**{axis: float(v) if axis == "frequency_hz" else int(v) for axis, v in known.items()})  # type: ignore[arg-type]  # keys are field names


@dataclass(frozen=True, slots=True)
class Lattice:
    """Finite grid of settings: for each axis its permitted values in ascending order."""

    values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @classmethod
    def spanning(cls, observed: Mapping[str, tuple[float, ...]]) -> Self:
        """Lattice between the lowest and highest observed value of each axis.

        Integer axes cc, p and pp take the standard steps within the range plus the observed values; other axes
        (cores, frequency, I/O block, part) only the observed ones, because they are properties of a machine or a store.
        """
        grid: dict[str, tuple[float, ...]] = {}
        for axis in AXES:
            seen = observed.get(axis)
            if not seen:
                continue
            low, high = min(seen), max(seen)
            steps = (step for step in _STEPS.get(axis, ()) if low <= step <= high)
            grid[axis] = tuple(sorted({*steps, *seen}))
        return cls(MappingProxyType(grid))

    def thin(self, most: int) -> Self:
        """Return a lattice of at most ``most`` settings: every other inner value of the longest axis goes, again and
        again.

        The ends of each axis stay, so that the range does not shrink.
        """
        grid = dict(self.values)
        while math.prod(len(values) for values in grid.values()) > most:
            longest = max(grid, key=lambda axis: len(grid[axis]))
            if len(grid[longest]) <= 2:
                break
            grid[longest] = (*grid[longest][:-1:2], grid[longest][-1])
        return type(self)(MappingProxyType(grid))

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(axis for axis in AXES if axis in self.values)

    def __len__(self) -> int:
        return math.prod(len(values) for values in self.values.values())

    def list_settings(self) -> Iterator[Parameters]:
        """List every setting, the last axis running fastest: the order of a raveled C array of shape ``self.shape``."""
        axes = self.axes
        typed = ([_convert_type(axis, value) for value in self.values[axis]] for axis in axes)
        for point in product(*typed):
            yield Parameters(**dict(zip(axes, point, strict=True)))  # type: ignore[arg-type]  # keys are field names

    def get_setting(self, place: int) -> Parameters:
        """Return the setting at a place of ``list_settings()``."""
        found: dict[str, float] = {}
        for axis in reversed(self.axes):
            place, step = divmod(place, len(self.values[axis]))
            found[axis] = _convert_type(axis, self.values[axis][step])
        return Parameters(**found)  # type: ignore[arg-type]  # keys are field names

    def build_place_finder(self) -> Callable[[Parameters], int | None]:
        """Return what finds a setting in ``list_settings()``; ``None`` off the grid, or if it is set on other axes."""
        on_axes: list[dict[float | None, int]] = []
        stride = 1
        for axis in reversed(AXES):
            values = self.values.get(axis)
            on_axes.insert(0, {None: 0} if values is None else {value: n * stride for n, value in enumerate(values)})
            stride *= 1 if values is None else len(values)

        def find_place(parameters: Parameters) -> int | None:
            total = 0
            for value, on_axis in zip(_on_axes(parameters), on_axes, strict=True):
                offset = on_axis.get(value)
                if offset is None:
                    return None
                total += offset
            return total

        return find_place

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(self.values[axis]) for axis in self.axes)


def _convert_type(axis: str, value: float) -> int | float:
    return float(value) if axis == "frequency_hz" else int(value)
