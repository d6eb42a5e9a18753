"""Nothing of a testbed is left: after its end, after a crash, and when others stand beside it."""

import os
import re
import signal
import subprocess
import sys

import pytest

from benchmarks.testbed import leftovers
from benchmarks.testbed.path_spec import PathSpec
from tests.conditions import eventually, stretched
from tests.endings import Program

PATH = PathSpec(rate_bps=100e6, rtt_s=0.01)
UP = [sys.executable, "-m", "benchmarks.testbed", "up", "--rate", "20Mbps", "--rtt", "10ms"]
TESTBED = [sys.executable, "-m", "benchmarks.testbed"]


def namespaces() -> str:
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout


def is_running(process_id: int) -> bool:
    return leftovers.read_start_ticks(process_id) is not None


def start_up() -> tuple[subprocess.Popen[str], str]:
    """A testbed of another process, and its name."""
    process = Program(UP, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "up; Ctrl-C ends it\n")
    (name,) = {found[1] for line in lines if (found := re.search(r"(tw\d+-[0-9a-f]+)-server", line))}
    return process, name


def test_the_end_leaves_no_namespace_no_process_and_no_file(stand):
    bed = stand(PATH)
    program = bed.start(bed.clients[0], ["sleep", "1000"])
    link = bed.link.process.pid
    assert bed.name in namespaces()
    bed.__exit__()
    assert program.wait(stretched(10)) == -signal.SIGTERM
    assert bed.name not in namespaces()
    assert not is_running(link)
    assert not bed.folder.exists()


def test_a_program_that_ignores_the_end_is_killed(stand):
    bed = stand(PATH)
    stubborn = "trap '' TERM; echo ready; while :; do sleep 1; done"
    with bed.start(bed.clients[0], ["sh", "-c", stubborn], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        program.stdout.readline()
        bed.__exit__()
        assert program.wait(stretched(10)) == -signal.SIGKILL
    assert bed.name not in namespaces()


def test_leftovers_of_a_killed_testbed_are_removed_and_a_living_one_stays(stand):
    living = stand(PATH)
    process, name = start_up()
    with process:
        sleeper = Program(["ip", "netns", "exec", f"{name}-client0", "sleep", "1000"])
        link = int(subprocess.run(["ip", "netns", "pids", f"{name}-server"], capture_output=True, check=True).stdout)
        process.kill()
    eventually(lambda: not is_running(link))  # it never outlives its owner
    leftovers.remove_leftovers()
    # Whoever sets a testbed up elsewhere removes leftovers too, and may be at it: in the end they are gone.
    eventually(lambda: name not in namespaces() and not (leftovers.FOLDER / name).exists())
    assert sleeper.wait(stretched(10)) == -signal.SIGTERM
    assert living.read_counters().down.forwarded == 0
    assert living.name in namespaces()


def test_a_process_with_the_id_of_a_dead_owner_does_not_keep_its_leftovers():
    state = leftovers.State(
        name=f"tw{os.getpid()}-0000", owner=os.getpid(), owner_started=1, namespaces=[], purpose="test"
    )
    state.write()
    assert not state.is_alive
    leftovers.remove_leftovers()
    eventually(lambda: not state.folder.exists())


def test_up_show_set_and_down_from_other_processes():
    process, name = start_up()
    with process:
        shown = subprocess.run([*TESTBED, "show"], capture_output=True, text=True, check=True).stdout
        assert re.search(rf"{name} .*\bup\b", shown)
        change = [*TESTBED, "set", "--name", name, "--rate", "7Mbps", "--rtt", "30ms", "--loss", "0"]
        assert "7 Mbit/s, 30 ms" in subprocess.run(change, capture_output=True, text=True, check=True).stdout
        process.send_signal(signal.SIGTERM)
        assert process.wait(stretched(10)) == 0
    assert name not in namespaces()


def test_a_killed_benchmark_leaves_its_cable_and_namespace_to_the_next():
    name = f"tw{os.getpid()}-9"
    script = (
        "import os, signal\n"
        "from benchmarks.scale.hosts import set_up_host\n"
        "from benchmarks.testbed.leftovers import record_namespaces\n"
        f"with record_namespaces(['{name}'], purpose='scale'):\n"
        f"    set_up_host('{name}', 250)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script], check=False)
    assert killed.returncode == -signal.SIGKILL
    # Whoever sets a testbed up elsewhere removes leftovers too, and may have been faster.
    with leftovers.record_namespaces([], purpose="run"):
        eventually(lambda: name not in namespaces())
        eventually(lambda: subprocess.run(["ip", "link", "show", name], capture_output=True, check=False).returncode)


def test_the_rate_of_a_path_that_is_up_follows_a_record(tmp_path):
    (tmp_path / "records.csv").write_text("t1,t2,t3\n1,1,1\n400,100,200\n")
    trace = ["--trace", str(tmp_path / "records.csv"), "--row", "2", "--interval", "100ms"]
    process = Program([*UP, *trace], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        assert any(line == "up; Ctrl-C ends it\n" for line in lines)
        rates = [next(lines).partition(",")[0] for _ in range(3)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(stretched(10)) == 0
    assert rates == ["20 Mbit/s", "5 Mbit/s", "10 Mbit/s"]


@pytest.mark.parametrize(("row", "told"), [("3", "records 1 to 2, got 3"), ("0", "records 1 to 2, got 0")])
def test_missing_record_is_reported_in_one_line(tmp_path, row, told):
    (tmp_path / "records.csv").write_text("t1,t2\n1,1\n2,1\n")
    for file, reason in (("records.csv", told), ("none.csv", "cannot be read: No such file")):
        done = subprocess.run(
            [*UP, "--trace", str(tmp_path / file), "--row", row], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert reason in done.stderr


def test_missing_permission_is_reported_in_one_line():
    script = "import os, sys; from benchmarks.testbed.__main__ import main; os.seteuid(65534); sys.exit(main(['down']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.fullmatch(r"testbed: the testbed needs root [^\n]*\n", done.stderr)
