import platform
import subprocess
import sys

import pytest

from services.latency import SCHED_SETATTR

SCRIPT = """
import os, threading
from services.latency import SLICE_NS, shorten_slice

def read_slice(task):
    lines = open(f"/proc/self/task/{task}/sched").read().splitlines()
    return next((int(line.split(":")[1]) for line in lines if line.startswith("se.slice")), None)

os.nice(3)
assert shorten_slice()
assert os.getpriority(os.PRIO_PROCESS, 0) >= 3
found = []
started = threading.Thread(target=lambda: found.append(read_slice(threading.get_native_id())))
started.start()
started.join()
own = read_slice(threading.get_native_id())
assert own in (None, SLICE_NS), own
assert own is None or found[0] > SLICE_NS, found
"""


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() not in SCHED_SETATTR, reason="a call of Linux")
def test_slices_of_the_thread_alone_are_short_and_its_niceness_stays() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)


ROOM = """
import os, threading
from services.latency import make_room_for_descriptors

def read_size():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("FDSize"))

descriptors = os.listdir("/proc/self/fd")
room = make_room_for_descriptors()
assert len(os.listdir("/proc/self/fd")) == len(descriptors)
size = read_size()
assert size >= room > 1_000, (size, room)
held = [os.dup(0) for _ in range(room // 2)]
assert read_size() == size
"""


@pytest.mark.skipif(sys.platform != "linux", reason="shown by /proc")
def test_table_of_descriptors_has_room_from_the_start_and_none_is_left_open() -> None:
    subprocess.run([sys.executable, "-c", ROOM], check=True)
