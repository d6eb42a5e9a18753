"""What an agent that was killed has changed is undone when the next one starts."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.integration.resources.children import child, cpus_of, groups_of, notes
from tradewind_agent.resources.host_files import HostFolders
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import Limits

AGENT = """
import sys
from pathlib import Path
from tradewind_agent.resources.host_files import HostFolders
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import Limits
state, cpus, pid = {arguments!r}
limiter = ResourceLimiter(Path(state), HostFolders(cpus=Path(cpus)))
limits = Limits(cores=1, frequency_hz=1.5e9, memory_bytes=512 << 20)
applied = limiter.apply(limits, int(pid) if pid else None)
print('ready', flush=True)
sys.stdin.read()
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "resources"


@pytest.fixture
def cpus(tmp_path: Path) -> Path:
    """A stand-in for the frequency files, which virtual machines do not have."""
    for cpu in os.sched_getaffinity(0):
        folder = tmp_path / "cpus" / f"cpu{cpu}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "cpuinfo_min_freq").write_text("800000\n")
        (folder / "scaling_max_freq").write_text("3000000\n")
    return tmp_path / "cpus"


def caps(cpus: Path) -> set[int]:
    return {int(file.read_text()) for file in cpus.glob("cpu*/cpufreq/scaling_max_freq")}


def agent(ledger: Path, cpus: Path, pid: int | None = None):
    return child(AGENT.format(arguments=(str(ledger), str(cpus), "" if pid is None else str(pid))))


def kill(process) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def groups_noted(ledger: Path) -> list[Path]:
    return [Path(claim["group"]) for note in notes(ledger) for claim in note["groups"]]


def test_everything_a_killed_agent_changed_is_put_back(ledger, cpus):
    with agent(ledger, cpus) as process:
        groups = groups_noted(ledger)
        assert all(group.is_dir() for group in groups)
        assert 1_500_000 in caps(cpus)
        kill(process)
        assert len(notes(ledger)) == 1
        assert ResourceLimiter(ledger, HostFolders(cpus=cpus)).recover() == ()
    assert not any(group.exists() for group in groups)
    assert caps(cpus) == {3_000_000}
    assert notes(ledger) == []


def test_the_process_that_a_killed_agent_limited_gets_its_freedom_back(ledger, cpus):
    with child() as limited:
        cpus_before, groups_before = cpus_of(limited.pid), groups_of(limited.pid)
        with agent(ledger, cpus, limited.pid) as process:
            groups = groups_noted(ledger)
            assert len(cpus_of(limited.pid)) == 1
            kill(process)
            assert len(cpus_of(limited.pid)) == 1
            assert ResourceLimiter(ledger, HostFolders(cpus=cpus)).recover() == ()
        assert (cpus_of(limited.pid), groups_of(limited.pid)) == (cpus_before, groups_before)
        assert not any(group.exists() for group in groups)
        assert notes(ledger) == []


def test_limits_of_a_living_agent_are_left_alone(ledger, cpus):
    limiter = ResourceLimiter(ledger, HostFolders(cpus=cpus))
    with agent(ledger, cpus):
        held = notes(ledger)
        assert limiter.recover() == ()
        assert notes(ledger) == held != []
        assert 1_500_000 in caps(cpus)
    assert limiter.recover() == ()
    assert notes(ledger) == []


def test_a_later_process_with_the_same_number_is_not_taken_for_the_agent(ledger, cpus):
    with agent(ledger, cpus) as process:
        kill(process)
    (path,) = ledger.glob("*.json")
    note = json.loads(path.read_bytes())
    note["owner"]["pid"] = os.getpid()
    path.write_text(json.dumps(note))
    ResourceLimiter(ledger, HostFolders(cpus=cpus)).recover()
    assert notes(ledger) == []
    assert caps(cpus) == {3_000_000}


def test_after_a_restart_of_the_machine_notes_are_forgotten_and_nothing_is_written(ledger, cpus):
    with agent(ledger, cpus) as process:
        groups = groups_noted(ledger)
        kill(process)
        (path,) = ledger.glob("*.json")
        note = json.loads(path.read_bytes())
        now = caps(cpus)
        path.write_text(json.dumps(note | {"owner": note["owner"] | {"boot": "another"}}))
        assert ResourceLimiter(ledger, HostFolders(cpus=cpus)).recover() == ()
        assert notes(ledger) == []
        assert caps(cpus) == now
        for group in groups:
            group.rmdir()


def test_a_damaged_note_is_no_obstacle(ledger, cpus):
    ledger.mkdir()
    (ledger / "1-2-0.json").write_text("{")
    (ledger / "1-3-0.json").write_text('{"owner": 3}')
    limiter = ResourceLimiter(ledger, HostFolders(cpus=cpus))
    assert limiter.recover() == ()
    assert notes(ledger) == []
    with child() as process, limiter.apply(Limits(frequency_hz=2e9), process.pid) as applied:
        assert applied.parameters.frequency_hz == 2e9
    assert caps(cpus) == {3_000_000}


def test_the_last_of_several_puts_the_first_frequency_back(ledger, cpus):
    limiter = ResourceLimiter(ledger, HostFolders(cpus=cpus))
    with child() as process:
        first = limiter.apply(Limits(frequency_hz=2e9), process.pid)
        second = limiter.apply(Limits(frequency_hz=1e9), process.pid)
        assert caps(cpus) == {1_000_000}
        first.undo()
        assert caps(cpus) == {1_000_000}
        third = limiter.apply(Limits(frequency_hz=2.5e9), process.pid)
        assert third.parameters.frequency_hz == 1e9  # the lowest on a CPU counts
        second.undo()
        assert caps(cpus) == {2_500_000}
        third.undo()
        assert caps(cpus) == {3_000_000}


def test_a_frequency_that_the_processor_does_not_have_is_advice(ledger, cpus):
    limiter = ResourceLimiter(ledger, HostFolders(cpus=cpus))
    with child() as process, limiter.apply(Limits(frequency_hz=5e8), process.pid) as applied:
        assert "goes no lower than 0.8 GHz" in applied.advice[0].why
        assert caps(cpus) == {3_000_000}
    assert notes(ledger) == []


def test_a_kernel_without_frequency_scaling_says_so(ledger, tmp_path):
    limiter = ResourceLimiter(ledger, HostFolders(cpus=tmp_path))
    with child() as process, limiter.apply(Limits(frequency_hz=2e9), process.pid) as applied:
        assert "offers no frequency scaling" in applied.advice[0].why
