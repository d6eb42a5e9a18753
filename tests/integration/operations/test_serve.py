"""The processes of the service: they are refused, started again, and end together."""

import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from services.listening import bind_shared_socket
from services.processes import HEALTHY_AFTER_S, LONGEST_PAUSE_S, ExitedAtOnce, run_processes
from services.serve import open_log
from tests.conditions import eventually
from tests.endings import is_gone
from tradewind.errors import InvalidValue

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


def refusal(**variables):
    """Exit code and error of a service that is not started."""
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, "-m", "services.serve"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_failure_to_create_the_data_folder_is_reported_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    code, error = refusal(TRADEWIND_DATA=str(tmp_path / "file" / "data"))
    assert code == 2
    assert error == f"serve: TRADEWIND_DATA: cannot make the folder {tmp_path}/file/data: Not a directory\n"


def test_a_port_that_is_taken_is_found_before_anything_is_started(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, error = refusal(TRADEWIND_DATA=str(tmp_path), TRADEWIND_PORT=str(port))
    assert code == 2
    assert error.count("\n") == 1
    assert f"cannot listen on 127.0.0.1:{port}" in error
    assert "set TRADEWIND_PORT" in error
    assert list(tmp_path.iterdir()) == []


def test_at_a_terminal_processes_write_to_a_file(tmp_path, monkeypatch, capsys):
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    for text in (b"first start", b"second start"):
        with open_log(tmp_path) as log:
            assert log is not None
            log.write(text)
    assert (tmp_path / "service.log").read_bytes() == b"second start"
    assert (tmp_path / "service.log.1").read_bytes() == b"first start"
    assert (tmp_path / "service.log").stat().st_mode & 0o777 == 0o600
    assert f"log: {tmp_path}/service.log\n" in capsys.readouterr().out
    with pytest.raises(ExitedAtOnce, match=r"api ended; .*/service\.log says why"), open_log(tmp_path):
        raise ExitedAtOnce("api ended")


def test_a_log_that_cannot_be_written_is_reported(tmp_path, monkeypatch):
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    with (
        pytest.raises(InvalidValue, match=r"TRADEWIND_DATA: cannot write to .*/gone/service\.log"),
        open_log(tmp_path / "gone"),
    ):
        pass


def test_elsewhere_processes_write_where_the_service_does(tmp_path):
    with open_log(tmp_path) as log:
        assert log is None
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def ready_file(tmp_path):
    return tmp_path / "ready"


def command(program, ready_file):
    return [sys.executable, "-c", f"import sys; sys.stdout = open({str(ready_file)!r}, 'w')\n{program}"]


def wait_for(path):
    while not (path.exists() and path.read_text()):
        psutil.wait_procs([psutil.Process()], timeout=0.01)


def test_processes_that_obey_are_stopped_with_what_they_started(ready_file):
    with run_processes({"one": command(OBEDIENT, ready_file)}, os.environ) as processes:
        wait_for(ready_file)
        assert processes["one"].poll() is None
    assert processes["one"].returncode == -signal.SIGTERM


def test_files_that_processes_of_the_service_make_are_their_owners_alone(tmp_path):
    made = tmp_path / "made"
    with run_processes({"maker": [sys.executable, "-c", f"open({str(made)!r}, 'w').close(); {OBEDIENT}"]}, os.environ):
        eventually(made.exists)
    assert made.stat().st_mode & 0o777 == 0o600


def test_variable_of_one_process_is_not_passed_to_the_others(tmp_path):
    tell = "import os, sys; print(os.environ['ALL'], os.environ.get('ONE'), file=open(sys.argv[1], 'w'), flush=True)"
    files = {name: tmp_path / name for name in ("one", "other")}
    commands = {name: [sys.executable, "-c", tell, str(file)] for name, file in files.items()}
    with run_processes(commands, {**os.environ, "ALL": "told"}, own={"one": {"ONE": "too"}}):
        for file in files.values():
            wait_for(file)
    assert {name: file.read_text() for name, file in files.items()} == {"one": "told too\n", "other": "told None\n"}


def test_a_process_that_does_not_stop_is_killed_with_its_children(ready_file):
    with run_processes({"one": command(STUBBORN, ready_file)}, os.environ, IMPATIENT) as processes:
        wait_for(ready_file)
        family = [psutil.Process(processes["one"].pid), *psutil.Process(processes["one"].pid).children()]
        assert len(family) == 2
    eventually(lambda: all(map(is_gone, family)))


def test_processes_end_when_an_error_ends_the_block(ready_file):
    context = run_processes({"one": command(OBEDIENT, ready_file)}, os.environ)
    processes = context.__enter__()
    wait_for(ready_file)
    assert not context.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert processes["one"].returncode is not None


class Clock:
    """Goes on when it is told to."""

    now_s = 0.0

    def __call__(self):
        return self.now_s


def ended(process):
    process.kill()
    process.wait()


def test_fits_give_way_to_who_answers_agents():
    waiting = [sys.executable, "-c", OBEDIENT]
    with run_processes({"api": waiting, "workers": waiting}, os.environ) as processes:
        niceness = {name: psutil.Process(process.pid).nice() for name, process in processes.items()}
    assert niceness["workers"] > niceness["api"] == psutil.Process().nice()


def test_a_process_that_was_killed_is_started_again_and_its_children_are_not_left(ready_file):
    with run_processes({"one": command(STUBBORN, ready_file)}, os.environ, IMPATIENT) as processes:
        wait_for(ready_file)
        (orphan,) = psutil.Process(processes["one"].pid).children()
        ended(processes["one"])
        assert processes.revive() == {"one": -signal.SIGKILL}
        eventually(lambda: is_gone(orphan))
        assert processes["one"].poll() is None
        assert processes.revive() == {}


def test_a_process_that_keeps_ending_is_started_after_longer_and_longer_pauses_until_one_lasts():
    clock, waits = Clock(), []
    with run_processes({"one": [sys.executable, "-c", OBEDIENT]}, os.environ, IMPATIENT, monotonic=clock) as processes:
        for _ in range(9):
            ended(processes["one"])
            started_s = clock.now_s
            while not processes.revive():
                clock.now_s += 0.5
            waits.append(clock.now_s - started_s)
        assert waits == [0, 0.5, 1, 2, 4, 8, 16, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
        clock.now_s += HEALTHY_AFTER_S
        ended(processes["one"])
        assert processes.revive() == {"one": -signal.SIGKILL}


def test_a_process_that_ends_as_soon_as_it_is_first_started_ends_the_rest():
    with run_processes({"one": [sys.executable, "-c", "raise SystemExit(3)"]}, os.environ) as processes:
        processes["one"].wait()
        with pytest.raises(ExitedAtOnce, match="one ended with exit code 3; stopping the rest"):
            processes.revive()


def test_a_process_that_ends_by_itself_later_is_started_again():
    clock = Clock()
    with run_processes(
        {"one": [sys.executable, "-c", "raise SystemExit(3)"]}, os.environ, monotonic=clock
    ) as processes:
        processes["one"].wait()
        clock.now_s += HEALTHY_AFTER_S
        assert processes.revive() == {"one": 3}


def test_connection_is_answered_after_one_process_of_a_shared_port_ended():
    with bind_shared_socket("127.0.0.1", 0) as first:
        address = first.getsockname()
        with bind_shared_socket(*address) as second:
            first.listen()
            second.listen()
            first.close()
            for _ in range(20):
                with socket.create_connection(address, timeout=5), second.accept()[0]:
                    pass
