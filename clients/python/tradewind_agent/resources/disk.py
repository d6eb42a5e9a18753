"""Disk rate of a transfer, reading and writing each, on the disks of its folders."""

import os
from pathlib import Path

from tradewind.units import BITS_PER_BYTE
from tradewind_agent.errors import ResourceRefused
from tradewind_agent.resources.applied import Advice, Enforced, Verdict
from tradewind_agent.resources.control_groups import ControlGroups, Group
from tradewind_agent.resources.target import Target
from tradewind_agent.system_errors import explain_os_error


def limit_disk(disk_bps: float, target: Target, groups: ControlGroups) -> tuple[Verdict, ...]:
    """Throttle the disks behind the target's folders.

    Version 1 sees only what the process itself submits: reads, direct and synced writes; not writes that the kernel
    makes later out of its cache. Version 2 holds those too.
    """
    bytes_per_s = max(int(disk_bps / BITS_PER_BYTE), 1)

    def write(group: Group) -> None:
        for disk in disks:
            if group.unified:
                target.files.write(group.folder / "io.max", f"{disk} rbps={bytes_per_s} wbps={bytes_per_s}")
                continue
            for direction in ("read", "write"):
                target.files.write(group.folder / f"blkio.throttle.{direction}_bps_device", f"{disk} {bytes_per_s}")

    try:
        disks = _list_disks(target)
        group = groups.limit("blkio" if _is_first_version(target) else "io", write)
    except ResourceRefused as refusal:
        return (Advice("disk_bps", disk_bps, str(refusal)),)
    part = "" if group.unified else ", but for writes that the kernel makes later out of its cache"
    return (Enforced("disk_bps", disk_bps, f"disk {', '.join(disks)} throttled in {group.folder}{part}"),)


def _is_first_version(target: Target) -> bool:
    return target.files.is_there(target.host.cgroup / "blkio" / "cgroup.procs")


def _list_disks(target: Target) -> tuple[str, ...]:
    """Return the physical disks of the folders, as MAJOR:MINOR."""
    if not target.folders:
        raise ResourceRefused("it is not known which disks the transfer uses")
    return tuple(sorted({_find_disk(folder, target) for folder in target.folders}))


def _find_disk(folder: Path, target: Target) -> str:
    """Return the disk of a folder, or of its nearest existing parent; for a partition, its entire disk."""
    there = folder.absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        number = there.stat().st_dev
        name = f"{os.major(number)}:{os.minor(number)}"
        device = (target.host.block_devices / name).resolve(strict=True)
        return (device.parent / "dev").read_text().strip() if (device / "partition").exists() else name
    except FileNotFoundError:
        raise ResourceRefused(f"{folder} is on no disk of its own (memory, network or layered file system)") from None
    except OSError as failure:
        raise ResourceRefused(f"the disk of {folder} cannot be found: {explain_os_error(failure).what}") from None
