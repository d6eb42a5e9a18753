"""What takes long is computed by other processes, which yield to this one and end with it."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import IO

import psutil
import pytest

from services.application.advice.connections import analyse_content
from services.application.shared.yielding_processes import NICENESS, YieldingProcesses
from tests.conditions import eventually
from tradewind.errors import InvalidValue, Unavailable
from tradewind.path import Path


@pytest.fixture
def processes() -> Iterator[YieldingProcesses]:
    made = YieldingProcesses(at_once=2)
    yield made
    made.close()


def test_functions_run_in_one_process_that_is_nice(processes: YieldingProcesses) -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    process = processes.run(os.getpid)
    assert process != os.getpid()
    assert processes.run(os.getpid) == process
    assert processes.run(os.getpriority, os.PRIO_PROCESS, 0) >= NICENESS
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_error_is_raised_as_it_was(processes: YieldingProcesses) -> None:
    with pytest.raises(InvalidValue) as caught:
        processes.run(analyse_content, b"", Path())
    assert (caught.value.field, caught.value.reason) == ("har", "is empty")
    assert processes.run(len, "abc") == 3


def test_file_is_read_by_the_process_as_it_is_here(processes: YieldingProcesses) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"in this process" * 10_000)
        file.seek(8)
        assert processes.run(read_all, file=file).startswith(b"process")
    assert processes.run(len, "abc") == 3


def read_all(file: IO[bytes]) -> bytes:
    return file.read()


def test_no_more_run_than_at_once(processes: YieldingProcesses) -> None:
    with ThreadPoolExecutor(6) as threads:
        found = {*threads.map(lambda _: processes.run(os.getpid), range(60))}
    assert len(found) <= 2


def test_process_that_is_killed_is_replaced(processes: YieldingProcesses) -> None:
    before = processes.run(os.getpid)
    with pytest.raises(Unavailable, match="send it again"):
        processes.run(os.kill, before, signal.SIGKILL)
    assert processes.run(os.getpid) != before


def test_idle_process_that_has_ended_costs_no_call(processes: YieldingProcesses) -> None:
    before = processes.run(os.getpid)
    os.kill(before, signal.SIGKILL)
    eventually(lambda: psutil.Process(before).status() == psutil.STATUS_ZOMBIE)
    assert processes.run(os.getpid) != before


def test_process_that_computes_when_all_are_closed_ends_afterwards() -> None:
    processes = YieldingProcesses()
    process = processes.run(os.getpid)
    with ThreadPoolExecutor(1) as threads:
        computing = threads.submit(processes.run, time.sleep, 0.5)
        eventually(lambda: psutil.Process(process).status() == psutil.STATUS_SLEEPING and not processes._idle)
        processes.close()
        computing.result()
    assert not psutil.pid_exists(process)


def test_error_names_where_it_came_from(processes: YieldingProcesses) -> None:
    with pytest.raises(ValueError, match="no numbers") as caught:
        processes.run(fail)
    assert "in fail" in "".join(caught.value.__notes__)


def fail() -> None:
    raise ValueError("no numbers")


def test_processes_end_with_a_parent_that_is_killed() -> None:
    script = """
import os, time
from services.application.shared.yielding_processes import YieldingProcesses
print(YieldingProcesses().run(os.getpid), flush=True)
held = YieldingProcesses()
print(held.run(os.getpid), flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        dropped, held = (int(parent.stdout.readline()) for _ in range(2))
        assert psutil.pid_exists(held)
        parent.kill()
    eventually(lambda: not any(psutil.pid_exists(each) for each in (dropped, held)))


def test_closing_ends_what_is_idle() -> None:
    processes = YieldingProcesses()
    process = processes.run(os.getpid)
    started_s = time.monotonic()
    processes.close()
    assert not psutil.pid_exists(process)
    assert time.monotonic() - started_s < 10
