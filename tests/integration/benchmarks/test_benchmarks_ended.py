"""A benchmark that is ended or killed leaves no process behind, whenever and however that happens."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from tests.conditions import eventually
from tests.endings import Program, is_gone

MARK = "TRADEWIND_TEST_OF_ENDINGS"
WORKER = "celery"


@pytest.fixture
def mark() -> str:
    """A value that the environment of every process of one benchmark has, and no other process."""
    return uuid4().hex


@pytest.fixture
def running(mark: str, tmp_path: Path) -> Iterator[psutil.Process]:
    """A benchmark with servers and workers, as `./run bench` starts it."""
    command = [sys.executable, "-P", "-m", "benchmarks.supervisor", "pipeline", "--smoke"]
    with (tmp_path / "output").open("wb") as output:
        process = Program(command, env=os.environ | {MARK: mark}, stdout=output, stderr=output)
    yield psutil.Process(process.pid)
    process.kill()
    process.wait()


def marked(mark: str) -> list[psutil.Process]:
    """Processes of the benchmark, whoever their parents are by now."""
    return [each for each in psutil.process_iter() if _environment(each).get(MARK) == mark and not is_gone(each)]


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except psutil.Error:  # it has ended, or is another account's
        return {}


def works(process: psutil.Process) -> bool:
    """Whether it has started workers."""
    return any(WORKER in _command(each) for each in process.children(recursive=True))


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def end_benchmark(supervisor: psutil.Process) -> None:
    """Kill the benchmark itself, not who looks after it."""
    (benchmark,) = supervisor.children()
    benchmark.kill()


def by(number: signal.Signals) -> Callable[[psutil.Process], None]:
    return lambda supervisor: supervisor.send_signal(number)


@pytest.mark.parametrize(
    "end",
    [by(signal.SIGINT), by(signal.SIGTERM), by(signal.SIGHUP), by(signal.SIGKILL), end_benchmark],
    ids=["Ctrl-C", "SIGTERM", "SIGHUP", "kill -9", "kill -9 of the benchmark"],
)
def test_ended_benchmark_leaves_no_process(
    running: psutil.Process, mark: str, end: Callable[[psutil.Process], None]
) -> None:
    eventually(lambda: works(running))
    family = running.children(recursive=True)  # servers among them, whose environment is empty

    end(running)

    eventually(lambda: is_gone(running))
    eventually(lambda: not marked(mark) and all(map(is_gone, family)))
