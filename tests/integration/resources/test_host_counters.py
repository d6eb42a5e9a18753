"""Counters of this host and of real processes."""

import os
import subprocess
import sys
import time

from tests.endings import Program
from tradewind.energy.measured import EnergyMethod
from tradewind_agent.meters import HostReader, choose_meter, compute_usage

BURN = "import time\nwhile time.process_time() < 0.3: pass"
NEST = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}], check=True)"


def test_counters_of_this_host_grow_and_give_shares():
    reader = HostReader(time.monotonic)
    earlier = reader.read()
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    later = reader.read()
    assert later.at_s > earlier.at_s
    assert later.tree_cpu_s - earlier.tree_cpu_s >= 0.15
    usage = compute_usage(earlier, later)
    assert usage.cpu is not None
    assert 0 < usage.cpu <= 1
    for share in (usage.memory, usage.disk, usage.nic):
        assert share is None or 0 <= share <= 1


def test_the_tree_includes_grandchildren_living_and_ended():
    reader = HostReader(time.monotonic)
    before = reader.read().tree_cpu_s
    with Program([sys.executable, "-c", NEST]) as child:
        seen = [reader.read().tree_cpu_s]
        while child.poll() is None:
            seen.append(reader.read().tree_cpu_s)
    after = reader.read().tree_cpu_s
    assert after - before >= 0.3
    assert seen == sorted(seen)
    assert seen[-1] <= after


def test_another_process_can_be_watched_until_it_ends():
    with Program([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        reader = HostReader(time.monotonic, pid=child.pid)
        alive = reader.read().tree_cpu_s
        child.communicate(b"\n")
    assert reader.read().tree_cpu_s >= alive


def test_there_is_always_a_meter_and_a_reason_for_each_better_one_that_is_not():
    choice = choose_meter(logical_cpus=os.cpu_count() or 1)
    better = {EnergyMethod.RAPL: 0, EnergyMethod.BATTERY: 1, EnergyMethod.CPU_MODEL: 2}[choice.meter.method]
    assert len(choice.refusals) == better
    assert choice.meter.method in choice.explanation
    counters = HostReader(time.monotonic).read()
    assert choice.meter.read_energy_j(counters) >= 0
