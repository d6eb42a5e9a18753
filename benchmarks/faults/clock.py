"""Run processes whose clock is wrong, by libfaketime: durations stay right, as where a clock was set wrongly."""

from collections.abc import Mapping
from pathlib import Path

LIBRARIES = (
    *Path("/usr/lib").glob("*/faketime/libfaketime.so.1"),
    *Path("/usr/local/lib").glob("faketime/libfaketime.so.1"),
)
PACKAGE = "libfaketime"


def is_installed() -> bool:
    """Return whether libfaketime is installed (Debian, Ubuntu: package libfaketime)."""
    return bool(LIBRARIES)


def shift_clock(seconds: float) -> Mapping[str, str]:
    """Return the variables of a process whose clock is fast by so many seconds."""
    return {
        "LD_PRELOAD": str(LIBRARIES[0]),
        "FAKETIME": f"{seconds:+.0f}s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
    }
