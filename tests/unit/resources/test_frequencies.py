"""Frequencies by the files that kernels show, driver by driver; the trees are as kernel documents and machines have
them: a folder a policy, to which the CPUs of the policy link.
"""

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from tests.integration.resources.children import notes
from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.copy.resources import CopyResources
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.resources.adjusting import AdjustedResources
from tradewind_agent.resources.applied import Advice, Applied
from tradewind_agent.resources.frequency import list_frequencies_hz
from tradewind_agent.resources.host_files import HostFolders, KernelFiles
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import NO_LIMITS, Limits
from tradewind_agent.session.planning import plan_set_by_hand

CPUS = sorted(os.sched_getaffinity(0))

INTEL_PSTATE = {
    "scaling_driver": "intel_pstate",
    "scaling_governor": "powersave",
    "scaling_available_governors": "performance powersave",
    "energy_performance_preference": "balance_performance",
    "cpuinfo_min_freq": "800000",
    "cpuinfo_max_freq": "3800000",
    "cpuinfo_transition_latency": "0",
    "scaling_min_freq": "800000",
    "scaling_max_freq": "3800000",
}
AMD_PSTATE = INTEL_PSTATE | {
    "scaling_driver": "amd-pstate-epp",
    "amd_pstate_max_freq": "5759000",
    "amd_pstate_lowest_nonlinear_freq": "1705000",
    "amd_pstate_highest_perf": "196",
    "cpuinfo_min_freq": "400000",
    "cpuinfo_max_freq": "5759000",
    "scaling_min_freq": "400000",
    "scaling_max_freq": "5759000",
}
ACPI_CPUFREQ = INTEL_PSTATE | {
    "scaling_driver": "acpi-cpufreq",
    "scaling_governor": "schedutil",
    "scaling_available_frequencies": "2900000 2400000 1900000 1500000 ",
    "bios_limit": "2900000",
    "freqdomain_cpus": "0 1",
    "cpuinfo_min_freq": "1500000",
    "cpuinfo_max_freq": "2900000",
    "scaling_min_freq": "1500000",
    "scaling_max_freq": "2900000",
}
DRIVERS = {"intel_pstate": INTEL_PSTATE, "amd-pstate": AMD_PSTATE, "acpi-cpufreq": ACPI_CPUFREQ}


def build_tree(root: Path, files: dict[str, str], *, is_shared: bool = False) -> HostFolders:
    """A policy a CPU, or one for all of them."""
    for number, cpu in enumerate(CPUS):
        policy = root / "cpufreq" / f"policy{CPUS[0] if is_shared else cpu}"
        (root / f"cpu{cpu}").mkdir(parents=True)
        if not is_shared or number == 0:
            policy.mkdir(parents=True)
            for name, text in files.items():
                (policy / name).write_text(f"{text}\n")
        (root / f"cpu{cpu}" / "cpufreq").symlink_to(Path("..") / "cpufreq" / policy.name)
    return HostFolders(cpus=root)


def list_hz(host: HostFolders) -> tuple[float, ...]:
    return list_frequencies_hz(CPUS, host, KernelFiles())


def read_caps(host: HostFolders) -> set[int]:
    return {int(file.read_text()) for file in host.cpus.glob("cpufreq/policy*/scaling_max_freq")}


@pytest.mark.parametrize(
    ("driver", "hz"),
    [
        ("intel_pstate", (0.8e9, 1.743560e9, 3.8e9)),
        ("amd-pstate", (0.4e9, 1.517762e9, 5.759e9)),
        ("acpi-cpufreq", (1.5e9, 2.4e9, 2.9e9)),
    ],
)
@pytest.mark.parametrize("is_shared", [False, True])
def test_ends_and_one_between_are_tried(tmp_path, driver, hz, is_shared):
    host = build_tree(tmp_path, DRIVERS[driver], is_shared=is_shared)
    assert list_hz(host) == pytest.approx(hz, rel=1e-6)


def test_virtual_machine_without_scaling_has_nothing_to_try(tmp_path):
    assert list_hz(HostFolders(cpus=tmp_path)) == ()


@pytest.mark.parametrize("damage", [{"cpuinfo_max_freq": "<unknown>"}, {"cpuinfo_min_freq": "3800000"}])
def test_files_that_say_nothing_leave_nothing_to_try(tmp_path, damage):
    assert list_hz(build_tree(tmp_path, INTEL_PSTATE | damage)) == ()


def test_cap_of_somebody_else_is_the_highest(tmp_path):
    host = build_tree(tmp_path, INTEL_PSTATE | {"scaling_max_freq": "2000000"})
    assert list_hz(host)[-1] == 2e9


class ReadOnly(KernelFiles):
    def can_write(self, file: Path) -> bool:
        return False


def test_frequency_that_may_not_be_capped_is_not_tried(tmp_path):
    assert list_frequencies_hz(CPUS, build_tree(tmp_path, INTEL_PSTATE), ReadOnly()) == ()


class Stubborn(KernelFiles):
    """A governor that refuses every cap."""

    def write(self, file: Path, text: str) -> None:
        if file.name == "scaling_max_freq":
            raise OSError(22, "Invalid argument")
        super().write(file, text)


@pytest.mark.parametrize("driver", DRIVERS)
def test_frequency_follows_and_is_given_back(tmp_path, driver):
    host = build_tree(tmp_path / "cpus", DRIVERS[driver])
    highest = read_caps(host)
    limiter = ResourceLimiter(tmp_path / "ledger", host)
    with AdjustedResources(limiter, Limits(frequency_hz=2e9), ("frequency_hz",)) as adjusted:
        assert read_caps(host) == {2_000_000}
        assert adjusted.adjust(Limits(frequency_hz=1.6e9))
        assert read_caps(host) == {1_600_000}
        assert adjusted.adjust(Limits(frequency_hz=2.5e9))
        assert read_caps(host) == {2_500_000}
        assert not adjusted.adjust(Limits(frequency_hz=2.5e9))
        assert adjusted.adjust(NO_LIMITS)
        assert read_caps(host) == highest
        adjusted.adjust(Limits(frequency_hz=2e9))
    assert read_caps(host) == highest
    assert notes(tmp_path / "ledger") == []


def test_refused_frequency_is_reported_once_and_left(tmp_path):
    host = build_tree(tmp_path / "cpus", INTEL_PSTATE)
    limiter = ResourceLimiter(tmp_path / "ledger", host, Stubborn())
    with AdjustedResources(limiter, NO_LIMITS, ("cores", "frequency_hz")) as adjusted:
        adjusted.adjust(Limits(frequency_hz=2e9))
        assert isinstance(adjusted.applied.advice[0], Advice)
        assert adjusted.names == {"cores"}
        advised = adjusted.advice
        assert not adjusted.adjust(Limits(frequency_hz=1e9))
        assert adjusted.advice == advised
    assert read_caps(host) == {3_800_000}


def test_refused_value_leaves_the_last_accepted_one_and_the_next_is_applied(tmp_path):
    host = build_tree(tmp_path / "cpus", INTEL_PSTATE)
    limiter = ResourceLimiter(tmp_path / "ledger", host)
    with AdjustedResources(limiter, Limits(frequency_hz=1.8e9), ("frequency_hz",)) as adjusted:
        for hz in (0.4e9, 0.5e9):
            adjusted.adjust(Limits(frequency_hz=hz))
            assert read_caps(host) == {1_800_000}
            assert adjusted.applied.parameters.frequency_hz == 1.8e9
        assert len(adjusted.advice) == 1
        assert adjusted.advice[0].why.endswith("no lower than 0.8 GHz")
        adjusted.adjust(Limits(frequency_hz=1.6e9))
        assert read_caps(host) == {1_600_000}
        adjusted.adjust(NO_LIMITS)
        assert read_caps(host) == {3_800_000}


class Tiring(KernelFiles):
    """A host that fails at low caps."""

    def write(self, file: Path, text: str) -> None:
        if file.name == "scaling_max_freq" and int(text) < 1_800_000:
            raise OSError(5, "Input/output error")
        super().write(file, text)


def test_host_that_fails_amid_a_transfer_returns_to_the_accepted_cap_until_it_is_lifted(tmp_path):
    host = build_tree(tmp_path / "cpus", INTEL_PSTATE)
    limiter = ResourceLimiter(tmp_path / "ledger", host, Tiring())
    with AdjustedResources(limiter, Limits(cores=1, frequency_hz=1.8e9), ("cores", "frequency_hz")) as adjusted:
        adjusted.adjust(Limits(cores=1, frequency_hz=1.6e9))
        assert adjusted.names == {"cores"}
        assert adjusted.applied.parameters.frequency_hz == 1.8e9
        adjusted.adjust(Limits(cores=1, frequency_hz=1.7e9))
        assert adjusted.applied.parameters.frequency_hz == 1.8e9
        adjusted.adjust(NO_LIMITS)
        assert read_caps(host) == {3_800_000}


def test_change_that_comes_after_the_end_applies_nothing(tmp_path):
    host = build_tree(tmp_path / "cpus", INTEL_PSTATE)
    adjusted = AdjustedResources(ResourceLimiter(tmp_path / "ledger", host), NO_LIMITS, ("frequency_hz",))
    adjusted.undo()
    assert not adjusted.adjust(Limits(frequency_hz=1.8e9))
    assert read_caps(host) == {3_800_000}


def test_refusal_amid_a_copy_is_reported_and_its_record_states_what_held(tmp_path):
    host = build_tree(tmp_path / "cpus", INTEL_PSTATE)

    def plan(hz):
        return (ChunkPlan(ChunkKind.WHOLE, None, Parameters(concurrency=4, frequency_hz=hz)),)

    limiter = ResourceLimiter(tmp_path / "ledger", host, Tiring())
    with AdjustedResources(limiter, Limits(frequency_hz=2.5e9), ("cores", "frequency_hz")) as adjusted:
        held = CopyResources(
            applied=Applied(()),
            adjusted=adjusted,
            by_engine=(),
            not_applied=(),
            engine=EngineOptions(),
            congestion_control=None,
        )
        held.adjust(plan(2e9))
        (chunk,) = held.adjust(plan(1e9))
        assert read_caps(host) == {2_000_000}
        assert chunk.parameters.frequency_hz == 2e9
        (note,) = held.notes
        assert note.startswith("not limited, only advised, to 1 GHz")
        by_hand = plan_set_by_hand(uuid4(), Parameters(concurrency=4))
        (record,) = held.apply_to_plan(by_hand, {ChunkKind.WHOLE: chunk.parameters}).chunks
        assert record.parameters.frequency_hz == 2e9


KILLED = """
import sys
from pathlib import Path
from tradewind_agent.resources.adjusting import AdjustedResources
from tradewind_agent.resources.host_files import HostFolders
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import Limits
limiter = ResourceLimiter(Path(sys.argv[1]), HostFolders(cpus=Path(sys.argv[2])))
adjusted = AdjustedResources(limiter, Limits(cores=1, frequency_hz=2e9), ("cores", "frequency_hz"))
adjusted.adjust(Limits(cores=2, frequency_hz=1e9))
print("ready", flush=True)
sys.stdin.read()
"""


def test_next_start_undoes_what_a_killed_agent_has_adjusted(tmp_path):
    host = build_tree(tmp_path / "cpus", INTEL_PSTATE)
    command = [sys.executable, "-c", KILLED, str(tmp_path / "ledger"), str(host.cpus)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        assert 1_000_000 in read_caps(host)
        process.kill()
        process.wait()
    assert ResourceLimiter(tmp_path / "ledger", host).recover() == ()
    assert read_caps(host) == {3_800_000}
    assert notes(tmp_path / "ledger") == []
