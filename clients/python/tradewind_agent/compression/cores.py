"""Cores that packing may use."""

import os


def usable_cores() -> int:
    """Those that this process is permitted to run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
