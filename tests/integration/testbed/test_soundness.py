"""Runs on a machine that also does other things: who goes ahead, how late the link was, what is refused."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from benchmarks.support.precedence import take_precedence
from benchmarks.support.processes import ProcessorShare, ProcessorWatch
from benchmarks.testbed.cross_traffic import CrossTraffic, run_cross_traffic
from benchmarks.testbed.lateness import Lateness
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.soundness import MOST_LATE_S, find_disturbance
from tests.conditions import eventually
from tests.endings import Program

_HOLD = """
import sys
from pathlib import Path
from benchmarks.support.precedence import take_precedence
with take_precedence(Path(sys.argv[1])) as is_prioritised:
    print(int(is_prioritised), flush=True)
    sys.stdin.read()
"""


def groups_of(process_id: int) -> str:
    return Path(f"/proc/{process_id}/cgroup").read_text(encoding="utf-8")


def test_a_benchmark_and_its_children_stand_in_a_group_of_their_own_until_its_end(tmp_path):
    before = groups_of(os.getpid())
    with take_precedence(tmp_path / "notes") as ahead:
        if not ahead:
            pytest.skip("this host permits no control groups")
        inside = groups_of(os.getpid())
        assert inside != before
        with Program(["cat"], stdin=subprocess.PIPE, start_new_session=True) as child:
            assert groups_of(child.pid) == inside
            child.kill()
    assert groups_of(os.getpid()) == before
    assert not list((tmp_path / "notes").glob("*.json"))


def test_the_group_of_a_killed_benchmark_is_removed_at_the_next_start(tmp_path):
    command = [sys.executable, "-P", "-c", _HOLD, str(tmp_path)]
    with Program(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        if killed.stdout.readline() != "1\n":
            pytest.skip("this host permits no control groups")
        loops = [each.pid for each in psutil.Process(killed.pid).children(recursive=True)]
        [name] = {part.rpartition("/")[2] for part in groups_of(killed.pid).split() if "/tradewind-" in part}
        [group] = Path("/sys/fs/cgroup").rglob(name)
        killed.send_signal(signal.SIGKILL)
    assert group.is_dir()
    with take_precedence(tmp_path):
        assert not group.is_dir()
        eventually(lambda: not any(map(psutil.pid_exists, loops)))


def test_loops_that_keep_processors_awake_end_with_the_benchmark(tmp_path):
    def children():
        return {process.pid for process in psutil.Process().children(recursive=True)}

    others = children()  # servers of other tests
    with take_precedence(tmp_path) as ahead:
        if not ahead:
            pytest.skip("this host permits no control groups")
        eventually(lambda: len(children() - others) >= len(os.sched_getaffinity(0)))
        loops = children() - others
        assert all(groups_of(loop) != groups_of(os.getpid()) for loop in loops)
        eventually(lambda: all(os.sched_getscheduler(loop) == os.SCHED_IDLE for loop in loops))
    eventually(lambda: not any(map(psutil.pid_exists, loops)))


def test_link_reports_delay_of_each_packet(stand):
    bed = stand(PathSpec(rate_bps=20e6, rtt_s=0.02))
    with run_cross_traffic(bed, bed.clients[0], CrossTraffic(flows=2)):
        eventually(lambda: bed.read_counters().down.forwarded > 500)
    counters = bed.read_counters()
    assert sum(counters.late.counts.values()) == counters.down.forwarded + counters.up.forwarded
    assert (
        0.0
        <= counters.late.compute_quantile_s(0.5)
        <= counters.late.compute_quantile_s(0.99)
        <= counters.late.compute_quantile_s(1.0)
    )


def test_runs_of_a_machine_that_was_too_busy_are_refused_with_the_reason(stand):
    counters = stand(PathSpec(rate_bps=20e6, rtt_s=0.02)).read_counters()
    quiet, busy, many_threads = (
        ProcessorShare(0.1, 0.0, 0.0),
        ProcessorShare(0.8, 0.5, 0.0),
        ProcessorShare(0.8, 0.01, 0.0),
    )
    assert find_disturbance(counters, quiet, rtt_s=0.02, prioritised=False) is None
    assert find_disturbance(counters, many_threads, rtt_s=0.02, prioritised=False) is None
    assert "80% of the time" in str(find_disturbance(counters, busy, rtt_s=0.02, prioritised=False))
    assert find_disturbance(counters, busy, rtt_s=0.02, prioritised=True) is None
    late = replace(counters, down=replace(counters.down, late=Lateness.parse("60:1,")))
    assert "host kept 20%" in str(
        find_disturbance(counters, ProcessorShare(0.1, 0.0, 0.2), rtt_s=0.02, prioritised=True)
    )
    assert late.late.compute_quantile_s(1.0) > MOST_LATE_S
    assert "packets left up to" in str(find_disturbance(late, quiet, rtt_s=0.02, prioritised=True))
    assert find_disturbance(late, quiet, rtt_s=9.0, prioritised=True) is None


def test_processor_time_of_run_is_separated_from_that_of_others():
    shared = ProcessorWatch(psutil.Process())
    with Program([sys.executable, "-c", "sum(range(3 * 10**6))"]) as program:
        os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
        share = shared.measure_share()
    assert 0.0 <= share.waited < 1.0
    assert 0.0 <= share.others <= 1.0
