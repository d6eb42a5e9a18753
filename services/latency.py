"""The processor comes soon to a process that answers, next to others that compute (Linux from 6.12 on)."""

import ctypes
import fcntl
import os
import platform
import resource
import struct
import sys
from pathlib import Path

SLICE_NS = 200_000
"""Time of an uninterrupted run. Whoever wakes up with a short one need not wait until the slice of another ends, which
takes milliseconds, however nice that one is."""

SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
"""Numbers of the system call, which the C library does not wrap everywhere."""

SCHED_OTHER, RESET_ON_FORK = 0, 1
ATTRIBUTES = "=IIQiIQQQ"
"""`struct sched_attr`, sched_setattr(2): size, policy, flags, nice, priority, runtime, deadline, period."""

MOST_DESCRIPTORS = 65_536
"""For which a process has room from its start, 0.5 MB of the kernel's memory, where its limit permits so many."""


def make_room_for_descriptors() -> int:
    """Enlarge this process's table of descriptors while it has one thread, and return for how many it has room.

    Where threads share the table, the kernel lets it grow only after all that may read the old one have had the
    processor. On a busy host that takes seconds, in which a new connection keeps an event loop from all others.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else min(soft, MOST_DESCRIPTORS)
    with Path(os.devnull).open("rb") as file:
        os.close(fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, room - 1))
    return room


def shorten_slice() -> bool:
    """Give this thread short slices, and others that it starts only at a niceness below 0; return whether the system
    knows them.

    Older kernels take the call and go on as before.
    """
    number = SCHED_SETATTR.get(platform.machine()) if sys.platform == "linux" else None
    if number is None:
        return False
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    size = struct.calcsize(ATTRIBUTES)
    flags = 0 if nice < 0 else RESET_ON_FORK  # the flag would take a niceness below 0 from them, too
    attributes = struct.pack(ATTRIBUTES, size, SCHED_OTHER, flags, nice, 0, SLICE_NS, 0, 0)
    failed: int = ctypes.CDLL(None).syscall(number, 0, ctypes.create_string_buffer(attributes, size), 0)
    return failed == 0
