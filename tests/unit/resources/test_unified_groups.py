"""Control groups of version 2 alone: where a transfer's group is made, what is written, and that nothing stays."""

import os
from pathlib import Path

import pytest

from tests.unit.resources.unified_kernel import UnifiedKernel
from tradewind_agent.resources.host_files import HostFolders
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import Limits

ALL = {"cpu", "memory", "io"}
WANTED = Limits(memory_bytes=1 << 30, disk_bps=8e6)


@pytest.fixture
def host(tmp_path):
    """This process as version 2 shows it: in the group /app/own; its folder on the first partition of disk 8:0."""
    proc = tmp_path / "proc"
    (proc / "sys/kernel/random").mkdir(parents=True)
    (proc / "sys/kernel/random/boot_id").write_text("this-boot\n")
    own = proc / str(os.getpid())
    own.mkdir()
    (own / "stat").write_text(Path("/proc/self/stat").read_text())
    (own / "status").write_text("RssAnon:\t 2048 kB\n")
    (own / "cgroup").write_text("0::/app/own\n")
    number = tmp_path.stat().st_dev
    partition = tmp_path / "block" / f"{os.major(number)}:{os.minor(number)}"
    partition.mkdir(parents=True)
    (partition / "partition").write_text("1\n")
    (tmp_path / "block" / "dev").write_text("8:0\n")
    return HostFolders(cgroup=tmp_path / "cgroup", proc=proc, block_devices=tmp_path / "block")


def kernel_with(host, *, app, root=ALL, controllers=ALL):
    kernel = UnifiedKernel(host.cgroup, controllers)
    kernel.groups[host.cgroup].handed_down = set(root)
    kernel.grow("app", handing_down=app)
    kernel.grow("app/own", pids=(os.getpid(),))
    return kernel


def limiter(host, kernel, tmp_path):
    return ResourceLimiter(tmp_path / "resources", host, kernel)


def made(kernel):
    return [folder for folder in kernel.groups if folder.name.startswith("tradewind-")]


def test_new_group_is_a_sibling_if_the_parent_that_holds_the_process_cannot_delegate(host, tmp_path):
    kernel = kernel_with(host, app=ALL)
    with limiter(host, kernel, tmp_path).apply(WANTED, folders=[tmp_path]) as applied:
        (folder,) = made(kernel)
        assert folder.parent == host.cgroup / "app"
        group = kernel.groups[folder]
        assert group.pids == [str(os.getpid())]
        assert group.files["memory.max"] == str(1 << 30)
        assert group.files["io.max"] == "8:0 rbps=1000000 wbps=1000000"
        assert applied.parameters.memory_bytes == 1 << 30
        assert applied.parameters.disk_bps == 8e6
        assert applied.advice == ()
    assert applied.left == ()
    assert made(kernel) == []
    assert kernel.groups[host.cgroup / "app/own"].pids == [str(os.getpid())]


def test_at_the_root_controllers_are_handed_down_for_it(host, tmp_path):
    (host.proc / str(os.getpid()) / "cgroup").write_text("0::/\n")
    kernel = UnifiedKernel(host.cgroup, ALL)
    kernel.groups[host.cgroup].pids = [str(os.getpid())]
    with limiter(host, kernel, tmp_path).apply(WANTED, folders=[tmp_path]) as applied:
        (folder,) = made(kernel)
        assert folder.parent == host.cgroup
        assert kernel.groups[host.cgroup].handed_down == {"memory", "io"}
        assert [each.resource for each in applied.enforced] == ["memory_bytes", "disk_bps"]
    assert kernel.groups[host.cgroup].pids == [str(os.getpid())]
    assert made(kernel) == []


def test_a_limit_of_the_process_s_own_group_is_not_escaped(host, tmp_path):
    kernel = kernel_with(host, app=ALL)
    kernel.groups[host.cgroup / "app/own"].files["memory.max"] = str(1 << 31)
    with limiter(host, kernel, tmp_path).apply(WANTED, folders=[tmp_path]) as applied:
        assert [each.resource for each in applied.advice] == ["memory_bytes", "disk_bps"]
        assert "busy" in applied.advice[0].why
    assert made(kernel) == []


def test_a_controller_that_is_not_handed_down_is_advice_next_to_one_that_is(host, tmp_path):
    kernel = kernel_with(host, app={"memory"}, root={"memory"})
    with limiter(host, kernel, tmp_path).apply(WANTED, folders=[tmp_path]) as applied:
        assert [each.resource for each in applied.enforced] == ["memory_bytes"]
        assert [each.resource for each in applied.advice] == ["disk_bps"]
    assert made(kernel) == []


def test_controller_that_the_kernel_lacks_is_reported(host, tmp_path):
    kernel = kernel_with(host, app={"memory"}, root={"memory"}, controllers={"memory"})
    with limiter(host, kernel, tmp_path).apply(WANTED, folders=[tmp_path]) as applied:
        assert applied.advice[0].why == "this host has no control groups for io"


def test_part_of_a_core_is_a_quota(host, tmp_path):
    kernel = kernel_with(host, app=ALL)
    with limiter(host, kernel, tmp_path).apply(Limits(cores=0.25)) as applied:
        (folder,) = made(kernel)
        assert kernel.groups[folder].files["cpu.max"] == "25000 100000"
        assert applied.parameters.cores == 1
    assert made(kernel) == []


def test_a_hybrid_host_shows_the_unified_tree_in_a_folder_of_its_own(host, tmp_path):
    kernel = UnifiedKernel(host.cgroup / "unified", ALL)
    kernel.groups[kernel.root].handed_down = set(ALL)
    kernel.grow("app", handing_down=ALL)
    kernel.grow("app/own", pids=(os.getpid(),))
    with limiter(host, kernel, tmp_path).apply(Limits(memory_bytes=1 << 30)):
        (folder,) = made(kernel)
        assert folder.parent == host.cgroup / "unified/app"


def test_a_group_that_cannot_be_removed_is_reported_and_removed_by_the_next_start(host, tmp_path):
    kernel = kernel_with(host, app=ALL)
    applied = limiter(host, kernel, tmp_path).apply(Limits(memory_bytes=1 << 30))
    (folder,) = made(kernel)
    kernel.grow(f"app/{folder.name}/inner")
    applied.undo()
    assert "could not be removed" in applied.left[0]
    (note,) = (tmp_path / "resources").glob("*.json")
    note.write_text(note.read_text().replace(f'"pid": {os.getpid()}, "started_ticks"', '"pid": 0, "started_ticks"', 1))
    del kernel.groups[folder / "inner"]
    assert limiter(host, kernel, tmp_path).recover() == ()
    assert made(kernel) == []
    assert not note.exists()
