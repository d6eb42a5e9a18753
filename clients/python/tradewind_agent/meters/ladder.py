"""The calibration ladder: load this host's components step by step and note what each step takes.

Processors hash, the disk writes, memory is filled, and the network receives a file of another host, where one is named.
Of memory the fill level is what a transfer's model can read, so that is what is varied: of most memory it takes next to
no power, and the fit then says so.
"""

import errno
import hashlib
import math
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

import psutil

from tradewind.errors import CannotFit
from tradewind.transfer import ResourceUsage
from tradewind.units import GIB, KIB, MIB
from tradewind_agent.meters.meter import MeterUnavailable
from tradewind_agent.meters.network_load import NetworkLoad
from tradewind_agent.meters.steady import MOST_HOST_W
from tradewind_agent.meters.utilisation import HostCounters, compute_usage

STEP_S = 5.0
GAUGE_STEP_S = 40.0
"""On battery: its gauge updates the power every few to thirty seconds."""
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
WARM_UP_SHARE = 0.25
"""Of a step, before it is measured: clocks and temperatures follow a load late."""
SAMPLE_S = 1.0
"""How often a meter is read in a step: a battery's gauge shows the present power, not the energy since."""
LONGEST_STILL_SHARE = 0.25
"""Of a measured step: a counter that is renewed more seldom has too much or too little of it."""
MEMORY_SHARE = 0.5
"""Of the memory that is free, at full load: the host has to go on working."""
MOST_MEMORY_BYTES = GIB
"""Filled within a second. Of a host whose use this moves by less than 2 % the memory counts as not measured."""
_SLICE_S = 0.05
_BLOCK = bytes(MIB // 4)
_PAGE_BYTES = 4 * KIB
_CONTROL_GROUP_FILES = (
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
)
"""Limit and use of a container's memory, in control groups of version 2 and 1."""

Load = Callable[[float], AbstractContextManager[None]]
"""Loads a component to a share of 0..1 for as long as its block lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderStep:
    """A measured step; ``started_s``, ``finished_s`` on the clock of the day, to match it with a meter's trace."""

    number: int
    started_s: float
    finished_s: float
    usage: Mapping[str, float]
    power_w: float | None


def build_host_loads(cpus: int, folder: Path, file_url: str | None = None) -> dict[str, Load]:
    """Return the loads of this host: processors, memory, the disk of ``folder``, the network with a ``file_url``."""

    @contextmanager
    def load_disk(share: float) -> Iterator[None]:
        with tempfile.TemporaryFile(dir=folder) as file:

            def write() -> None:
                file.seek(0)
                file.write(_BLOCK)
                file.flush()
                os.fdatasync(file.fileno())

            with _run_in_background(1, share, write):
                yield

    loads: dict[str, Load] = {
        "cpu": lambda share: _run_in_background(cpus, share, lambda: hashlib.sha256(_BLOCK).digest()),
        "disk": load_disk,
        "memory": fill_memory,
    }
    if file_url is not None:
        network = NetworkLoad(file_url)
        loads["nic"] = lambda share: _run_in_background(network.streams, share, network.receive)
    return loads


@contextmanager
def fill_memory(share: float) -> Iterator[None]:
    """Fill ``share`` of half of the free memory for as long as the block lasts."""
    size = int(share * min(MEMORY_SHARE * find_free_memory_bytes(), MOST_MEMORY_BYTES)) // _PAGE_BYTES * _PAGE_BYTES
    try:
        filled = bytearray(size)
        filled[::_PAGE_BYTES] = b"\x01" * (size // _PAGE_BYTES)  # a page takes memory once it is written
    except MemoryError:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)) from None
    yield
    del filled


def find_free_memory_bytes(groups: Path = Path("/sys/fs/cgroup")) -> float:
    """Return the memory that this process may still take: of the host, or of its container if that is less."""
    free_bytes = float(psutil.virtual_memory().available)
    for limit, used in _CONTROL_GROUP_FILES:
        try:
            left_bytes = float((groups / limit).read_text()) - float((groups / used).read_text())
        except (OSError, ValueError):  # no such control group, or one without a limit, which says "max"
            continue
        free_bytes = min(free_bytes, max(left_bytes, 0.0))
    return free_bytes


@contextmanager
def _run_in_background(threads: int, share: float, work: Callable[[], object]) -> Iterator[None]:
    """Do ``work`` over and over for ``share`` of the time; hashing and writing leave the interpreter to others."""
    stop = threading.Event()
    failures: list[Exception] = []

    def run() -> None:
        try:
            while not stop.is_set():
                started_s = time.monotonic()
                while time.monotonic() - started_s < share * _SLICE_S:
                    work()
                stop.wait(max(0.0, _SLICE_S - (time.monotonic() - started_s)))
        except Exception as failure:  # noqa: BLE001 -- raised below, by the thread that measures
            failures.append(failure)

    workers = [threading.Thread(target=run, daemon=True) for _ in range(threads if share > 0 else 0)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    if failures:
        raise failures[0]


def climb(
    loads: Mapping[str, Load],
    *,
    read: Callable[[], HostCounters],
    energy_j: Callable[[HostCounters], float] | None,
    step_s: float,
    seed: int = 1,
    levels: Sequence[float] = LEVELS,
    wait: Callable[[float], object] = time.sleep,
    clock_s: Callable[[], float] = time.time,
    say: Callable[[str], None] = lambda _: None,
) -> list[LadderStep]:
    """Load every component at every level and measure, in an order drawn by ``seed`` so that a drift is no component's.

    Parameters
    ----------
    loads : by component, in the names of `ResourceUsage`. A step measures these components alone.
    read : the host's counters. ``energy_j`` : of the meter that is read with them; ``None`` where a trace is recorded.
    wait, clock_s : time, replaced to control it.

    Raises
    ------
    CannotFit : the meter can no longer be read, such as a battery's once the device is plugged in; or a component
        cannot be loaded, such as a disk that is full; or the meter goes backward, jumps or is renewed too seldom.
    """
    plan = [(name, level) for name in loads for level in levels]
    Random(seed).shuffle(plan)  # noqa: S311 -- an order, no secret
    steps = []
    for number, (name, level) in enumerate(plan):
        step = f"step {number + 1} of {len(plan)}"
        say(f"{step}: {name} {level:.0%}")
        try:
            with loads[name](level):
                wait(WARM_UP_SHARE * step_s)
                started_s = clock_s()
                usage, power_w = _measure(read, energy_j, (1 - WARM_UP_SHARE) * step_s, wait)
                finished_s = clock_s()
        except MeterUnavailable as lost:
            raise CannotFit(f"{step}: {lost}; the meter is needed all the while, calibrate again with it") from None
        except OSError as failure:
            raise CannotFit(f"{step}: {name} could not be loaded: {failure}") from None
        except CannotFit as unsteady:
            raise CannotFit(f"{step}: {unsteady}") from None
        used = {name: share for name in loads if (share := getattr(usage, name)) is not None}
        steps.append(LadderStep(number=number, started_s=started_s, finished_s=finished_s, usage=used, power_w=power_w))
    return steps


def _measure(
    read: Callable[[], HostCounters],
    energy_j: Callable[[HostCounters], float] | None,
    duration_s: float,
    wait: Callable[[float], object],
) -> tuple[ResourceUsage, float | None]:
    """Mean utilisation and power of ``duration_s``."""
    samples = max(1, round(duration_s / SAMPLE_S))
    first = last = read()
    metered = [] if energy_j is None else [(first.at_s, energy_j(first))]
    for _ in range(samples):
        wait(duration_s / samples)
        last = read()
        if energy_j is not None:
            metered.append((last.at_s, energy_j(last)))
    return compute_usage(first, last), _compute_mean_power_w(metered) if metered else None


def _compute_mean_power_w(metered: Sequence[tuple[float, float]]) -> float:
    """Return the mean power of a step by the meter's values, each a time, s, and an energy, J.

    That of a counter which stands still meanwhile is the one between its first and its last change: what it shows at
    the ends of the step may be of some seconds before.

    Raises
    ------
    CannotFit : the values are not those of a host in this step alone.
    """
    still_s = longest_s = 0.0
    for (before_s, before_j), (after_s, after_j) in pairwise(metered):
        spent_j, duration_s = after_j - before_j, after_s - before_s
        if not 0 <= spent_j <= MOST_HOST_W * (duration_s + still_s):
            raise CannotFit(
                f"the meter went from {before_j:.6g} to {after_j:.6g} J within {duration_s:.3g} s; try again"
            )
        still_s = 0.0 if spent_j else still_s + duration_s
        longest_s = max(longest_s, still_s)
    step_s = metered[-1][0] - metered[0][0]
    sample_s = step_s / (len(metered) - 1)
    if longest_s > 0 and longest_s + sample_s > LONGEST_STILL_SHARE * step_s:
        renewed_s = longest_s + 2 * sample_s  # it may stand still for a sample longer than was seen
        needed_s = math.ceil(renewed_s / LONGEST_STILL_SHARE / (1 - WARM_UP_SHARE))
        raise CannotFit(
            f"the meter shows the same energy for {longest_s:.3g} s; calibrate with --step {needed_s}s or more"
        )
    changed = metered if not longest_s else [after for before, after in pairwise(metered) if after[1] > before[1]]
    return (changed[-1][1] - changed[0][1]) / (changed[-1][0] - changed[0][0])
