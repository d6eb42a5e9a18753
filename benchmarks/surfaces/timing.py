"""Processor time of the surfaces of one leaf with their validation, on one core, by the number of settings.

It is measured on the machine as it is, and again while a program on every processor moves memory: what shares caches
and memory with the fit slows it down.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from tradewind.learning.leaf import fit_leaf
from tradewind.learning.observations import Observations
from tradewind.learning.surface.cells import Index
from tradewind.learning.validation import validate_leaf

MAX_TIMED_CELLS = 1000
TIMED_CELLS = (100, 300, 1000)
TIMINGS = 3

_MOVE_MEMORY = "import array\na = array.array('d', bytes(1 << 26))\nwhile True:\n    a = a[1:] + a[:1]"


def measure_leaf_times(observations: Observations) -> Mapping[str, float]:
    """Return times by name, ms: ``leaf_ms`` of the set itself if it is small enough, and others of parts of its cells.

    ``leaf_ms_N`` and ``leaf_busy_ms_N`` are those of N random cells, of a set with at least as many.
    """
    count = len(np.unique(_find_cells(observations)))
    found = {"leaf_ms": measure_leaf_ms(observations)} if count <= MAX_TIMED_CELLS else {}
    parts = {cells: take_cells(observations, cells) for cells in TIMED_CELLS if cells <= count}
    circumstances: Mapping[str, AbstractContextManager[None]] = {
        "leaf_ms": nullcontext(),
        "leaf_busy_ms": occupy_processors(),
    }
    for name, circumstance in circumstances.items():
        with circumstance:
            found |= {f"{name}_{cells}": measure_leaf_ms(part) for cells, part in parts.items()}
    return found


def measure_leaf_ms(observations: Observations) -> float:
    """Return the processor time of two surfaces with their validation, ms; the least disturbed of a few runs.

    Where power was not metered, a copy of the throughput stands in for it: the work is the same.
    """
    o = observations
    if not np.isfinite(o.power_w).any():
        o = replace(o, power_w=o.throughput_bps)
    times_s = []
    with threadpool_limits(limits=1):
        for _ in range(TIMINGS):
            start_s = time.process_time()
            validate_leaf(o, fit_leaf(o), np.random.default_rng(0))
            times_s.append(time.process_time() - start_s)
    return 1e3 * min(times_s)


def take_cells(observations: Observations, cells: int) -> Observations:
    """Return the rows at ``cells`` random settings."""
    cell = _find_cells(observations)
    chosen = np.random.default_rng(0).permutation(int(cell.max()) + 1)[:cells]
    return observations.take(np.isin(cell, chosen))


@contextmanager
def occupy_processors() -> Iterator[None]:
    """Keep every processor busy with moving memory, as long as the block lasts."""
    programs = [subprocess.Popen([sys.executable, "-c", _MOVE_MEMORY]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def _find_cells(observations: Observations) -> Index:
    _, cell = np.unique(np.nan_to_num(observations.settings, nan=-1.0), axis=0, return_inverse=True)
    return np.asarray(cell, dtype=np.intp)
