"""The processes of the service live and end together."""

import os
import signal
import sys

import psutil
import pytest

from services.serve import running

IMPATIENT = ((signal.SIGTERM, 0.1), (signal.SIGQUIT, 0.1))
OBEDIENT = "import signal; print('ready', flush=True); signal.pause()"
STUBBORN = """
import signal, subprocess, sys
for number in (signal.SIGTERM, signal.SIGQUIT, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
print("ready", flush=True)
while True:
    signal.pause()
"""


@pytest.fixture
def ready_file(tmp_path):
    return tmp_path / "ready"


def command(program, ready_file):
    return [sys.executable, "-c", f"import sys; sys.stdout = open({str(ready_file)!r}, 'w')\n{program}"]


def wait_for(path):
    while not (path.exists() and path.read_text()):
        psutil.wait_procs([psutil.Process()], timeout=0.01)


def test_processes_that_obey_are_stopped_with_what_they_started(ready_file):
    with running({"one": command(OBEDIENT, ready_file)}, os.environ) as processes:
        wait_for(ready_file)
        assert processes["one"].poll() is None
    assert processes["one"].returncode == -signal.SIGTERM


def test_a_process_that_does_not_stop_is_killed_with_its_children(ready_file):
    with running({"one": command(STUBBORN, ready_file)}, os.environ, IMPATIENT) as processes:
        wait_for(ready_file)
        family = [psutil.Process(processes["one"].pid), *psutil.Process(processes["one"].pid).children()]
        assert len(family) == 2
    _, alive = psutil.wait_procs(family, timeout=30)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


def test_processes_end_when_an_error_ends_the_block(ready_file):
    context = running({"one": command(OBEDIENT, ready_file)}, os.environ)
    processes = context.__enter__()
    wait_for(ready_file)
    assert not context.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert processes["one"].returncode is not None
