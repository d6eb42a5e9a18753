"""Limits on real processes of this kernel: each holds where the kernel permits it, and is advice where it does not."""

import errno
import json
import os
import time
from pathlib import Path

import pytest

from tests.integration.resources.children import BUSY, child, cpu_s, cpus_of, groups_of, notes
from tradewind_agent.resources.applied import Advice, Applied, Enforced
from tradewind_agent.resources.host_files import HostFolders, KernelFiles
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import Limits

ROOM_BYTES = 512 * 1024 * 1024


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "state" / "resources"


@pytest.fixture
def limiter(ledger: Path) -> ResourceLimiter:
    return ResourceLimiter(ledger)


class ReadOnlyFiles(KernelFiles):
    """Control files of a container whose control groups are mounted read-only."""

    def write(self, file: Path, text: str) -> None:  # the port's names
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(file))

    def make_folder(self, folder: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(folder))


@pytest.fixture
def read_only(tmp_path: Path, ledger: Path) -> ResourceLimiter:
    root = tmp_path / "cgroup"
    for controller in ("cpu", "memory", "blkio"):
        (root / controller).mkdir(parents=True)
        (root / controller / "cgroup.procs").touch()
    return ResourceLimiter(ledger, HostFolders(cgroup=root, cpus=tmp_path / "cpus"), ReadOnlyFiles())


def group_of(applied: Applied) -> Path | None:
    """The control group that the last limit names, if there is one."""
    words = [word.rstrip(",") for each in applied.enforced for word in each.how.split()]
    return next((Path(word) for word in reversed(words) if "/tradewind-" in word), None)


def test_cores_are_bound_as_proc_reports_and_released(limiter, ledger):
    with child() as process:
        before = cpus_of(process.pid)
        with limiter.apply(Limits(cores=1), process.pid) as applied:
            assert len(cpus_of(process.pid)) == 1
            assert cpus_of(process.pid) <= before
            assert applied.parameters.cores == 1
            assert applied.advice == ()
            assert len(notes(ledger)) == (1 if len(before) > 1 else 0)
        assert cpus_of(process.pid) == before
        assert notes(ledger) == []
        assert applied.left == ()


def test_all_threads_and_descendants_are_bound(limiter):
    code = (
        "import subprocess, sys, threading\n"
        "inner = subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'], stdin=sys.stdin)\n"
        "threading.Thread(target=inner.wait, daemon=True).start()\n"
        "print('ready', flush=True); inner.wait()"
    )
    with child(code) as process, limiter.apply(Limits(cores=1), process.pid):
        (inner,) = (int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
        threads = [int(task.name) for task in Path(f"/proc/{process.pid}/task").iterdir()]
        assert len(threads) == 2
        bound = {frozenset(os.sched_getaffinity(each)) for each in (inner, *threads)}
        assert bound == {frozenset(cpus_of(process.pid))}
        assert len(cpus_of(process.pid)) == 1


def test_transfers_side_by_side_get_different_cpus_while_there_are_some(limiter):
    with child() as first, child() as second:
        limits = Limits(cores=1)
        with limiter.apply(limits, first.pid), limiter.apply(limits, second.pid):
            there = len(os.sched_getaffinity(0))
            assert len(cpus_of(first.pid) | cpus_of(second.pid)) == min(2, there)


@pytest.mark.parametrize("first_to_end", [0, 1])
def test_two_transfers_of_one_process_are_held_until_both_are_over(limiter, first_to_end):
    with child() as process:
        before = cpus_of(process.pid)
        applied = [limiter.apply(Limits(cores=1), process.pid) for _ in range(2)]
        for each in applied:
            each.__enter__()
            assert len(cpus_of(process.pid)) == 1
        applied[first_to_end].__exit__(None, None, None)
        assert len(cpus_of(process.pid)) == 1
        applied[1 - first_to_end].__exit__(None, None, None)
        assert cpus_of(process.pid) == before


def test_more_cores_than_there_are_change_nothing_and_show_how_many_are_current(limiter, ledger):
    there = len(os.sched_getaffinity(0))
    with child() as process, limiter.apply(Limits(cores=there + 7), process.pid) as applied:
        assert applied.parameters.cores == there
        assert notes(ledger) == []


def test_half_a_core_is_enforced_by_a_quota_or_reported_as_not_enforced(limiter):
    with child(BUSY) as process, limiter.apply(Limits(cores=0.5), process.pid) as applied:
        used = _share_of_a_core(process.pid)
        if (group := group_of(applied)) is not None:
            assert used <= 0.75
            quota = {"cpu.max": "50000 100000", "cpu.cfs_quota_us": "50000"}
            shown = {name: (group / name).read_text().strip() for name in quota if (group / name).exists()}
            assert shown == {name: quota[name] for name in shown} != {}
            assert applied.parameters.cores == 1  # a record states whole cores, so that learning knows of the limit
            assert applied.advice == ()
        else:
            assert [(each.resource, each.value) for each in applied.advice] == [("cores", 0.5)]
            assert "control groups" in applied.advice[0].why


def _share_of_a_core(pid: int, least_s: float = 1.0) -> float:
    """Processor time by wall time, over a second at least."""
    begun_s, had_s = time.monotonic(), cpu_s(pid)
    while (passed_s := time.monotonic() - begun_s) < least_s:
        time.sleep(0.05)
    return (cpu_s(pid) - had_s) / passed_s


def test_memory_limit_is_enforced_in_a_group_or_reported_as_not_enforced(limiter, ledger):
    with child() as process:
        before = groups_of(process.pid)
        applied = limiter.apply(Limits(memory_bytes=ROOM_BYTES), process.pid)
        if applied.enforced:
            group = group_of(applied)
            assert group is not None
            names = ("memory.max", "memory.limit_in_bytes")
            assert [int((group / name).read_text()) for name in names if (group / name).exists()] == [ROOM_BYTES]
            assert str(process.pid) in (group / "cgroup.procs").read_text().split()
            assert applied.parameters.memory_bytes == ROOM_BYTES
            assert len(notes(ledger)) == 1
            applied.undo()
            assert not group.exists()
        else:
            assert "control groups for memory" in applied.advice[0].why
        assert groups_of(process.pid) == before
        assert notes(ledger) == []


def test_a_bound_below_what_a_process_holds_is_not_set_because_it_would_kill_it(limiter, ledger):
    with child() as process, limiter.apply(Limits(memory_bytes=4096), process.pid) as applied:
        (advice,) = applied.advice
        assert "would be killed" in advice.why
        assert process.poll() is None
        assert notes(ledger) == []


def test_disk_limit_of_a_folder_is_enforced_or_reported_as_not_enforced(limiter, tmp_path):
    with child() as process:
        applied = limiter.apply(Limits(disk_bps=80e6), process.pid, folders=[tmp_path / "not" / "yet"])
        if applied.enforced:
            group = group_of(applied)
            names = ("io.max", "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")
            shown = [(group / name).read_text() for name in names if (group / name).exists()]
            assert shown
            assert all("10000000" in text for text in shown)
            assert applied.parameters.disk_bps == 80e6
        else:
            (advice,) = applied.advice
            assert "control groups" in advice.why or "no disk of its own" in advice.why
        applied.undo()
        assert applied.left == ()


def test_a_folder_in_memory_has_no_disk_to_throttle(limiter):
    with child() as process, limiter.apply(Limits(disk_bps=1e6), process.pid, folders=[Path("/proc")]) as applied:
        (advice,) = applied.advice
        assert "no disk of its own" in advice.why


def test_without_folders_no_disk_is_throttled(limiter):
    with child() as process, limiter.apply(Limits(disk_bps=1e6), process.pid) as applied:
        assert "not known which disks" in applied.advice[0].why


def test_a_network_rate_of_a_process_is_advice(limiter):
    with child() as process, limiter.apply(Limits(nic_bps=1e6), process.pid) as applied:
        assert applied.enforced == ()
        assert str(applied.advice[0]).startswith("not limited, only advised, to 1 Mbit/s of the network: ")


def test_forbidden_limit_becomes_advice_with_the_reason(read_only, ledger):
    limits = Limits(cores=0.5, frequency_hz=1e9, memory_bytes=ROOM_BYTES, disk_bps=1e6, nic_bps=1e6)
    with child() as process:
        before = groups_of(process.pid)
        with read_only.apply(limits, process.pid, folders=[Path.cwd()]) as applied:
            assert [limit.resource for limit in applied.advice] == [
                "cores",
                "frequency_hz",
                "memory_bytes",
                "disk_bps",
                "nic_bps",
            ]
            for limit in applied.advice:
                if limit.resource in ("cores", "memory_bytes"):
                    assert "the file system is read-only" in limit.why
            assert groups_of(process.pid) == before
            assert {limit.resource for limit in applied.enforced} <= {"cores"}  # bound to whole cores at least
        assert applied.left == ()
        assert notes(ledger) == []


UNPRIVILEGED = """
import json, os, sys, tempfile
from pathlib import Path
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import Limits
NOBODY = 65534
if os.getuid() == 0:
    os.setgroups([]), os.setgid(NOBODY), os.setuid(NOBODY)
with tempfile.TemporaryDirectory() as folder:
    with ResourceLimiter(Path(folder) / "resources").apply(Limits(cores=1, memory_bytes=1 << 30)) as applied:
        told = [[each.resource for each in kind] for kind in (applied.enforced, applied.advice)]
        cpus = len(os.sched_getaffinity(0))
print("ready"), print(json.dumps([told, cpus, applied.left]), flush=True)
"""


def test_a_user_without_rights_still_binds_cores_and_is_reported_of_the_rest():
    """The refusal is the kernel's own; where users have groups of their own, memory is bounded too."""
    with child(UNPRIVILEGED) as process:
        assert process.stdout is not None
        (enforced, advice), cpus, left = json.loads(process.stdout.readline())
    assert cpus == 1
    assert enforced[0] == "cores"
    assert sorted([*enforced, *advice]) == ["cores", "memory_bytes"]
    assert left == []


def test_a_host_without_control_groups_says_so(tmp_path, ledger):
    limiter = ResourceLimiter(ledger, HostFolders(cgroup=tmp_path / "none"))
    with child() as process, limiter.apply(Limits(memory_bytes=ROOM_BYTES), process.pid) as applied:
        assert applied.advice == (Advice("memory_bytes", ROOM_BYTES, "this host has no control groups for memory"),)


def test_without_a_place_for_notes_nothing_is_changed(tmp_path):
    (tmp_path / "file").touch()
    limiter = ResourceLimiter(tmp_path / "file" / "resources")
    with child() as process:
        before = cpus_of(process.pid)
        with limiter.apply(Limits(cores=1), process.pid) as applied:
            assert "nothing can be noted" in applied.advice[0].why
            assert cpus_of(process.pid) == before


def test_a_process_that_is_gone_cannot_be_limited(limiter):
    with child() as process:
        pass
    with limiter.apply(Limits(cores=1), process.pid) as applied:
        assert applied.advice == (Advice("cores", 1, f"there is no process {process.pid}"),)


def test_limits_of_a_process_that_ends_first_are_undone(limiter, ledger):
    with child() as process:
        applied = limiter.apply(Limits(cores=1, memory_bytes=ROOM_BYTES), process.pid)
    applied.undo()
    assert applied.left == ()
    assert notes(ledger) == []
    group = group_of(applied)
    assert group is None or not group.exists()


def test_no_limits_are_no_change(limiter, ledger):
    with limiter.apply(Limits()) as applied:
        assert applied.lines == ()
    assert not ledger.exists()


def test_verdicts_are_reported_in_words():
    assert str(Enforced("cores", 1.0, "bound to CPU 0")) == "limited to 1 core: bound to CPU 0"
    assert str(Advice("frequency_hz", 1.2e9, "no scaling")) == (
        "not limited, only advised, to 1.2 GHz of processor frequency: no scaling"
    )
