"""Cores that packing may use, and the number of simultaneous packed files."""

import os

LEAST_AT_ONCE = 2
"""Packed files at once: while one is answered, the next is packed."""

FILES_A_CORE = 4
"""Packed files at once, a core: while one waits for the path another one packs; each holds blocks of up to 4 MiB."""


def count_usable_cores() -> int:
    """Return those that this process is permitted to run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
