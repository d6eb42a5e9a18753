"""Memory of a transfer, page cache included."""

import re

from tradewind.units import KIB, format_bytes
from tradewind_agent.errors import ResourceRefused
from tradewind_agent.resources.applied import Advice, Enforced, Verdict
from tradewind_agent.resources.control_groups import ControlGroups, Group
from tradewind_agent.resources.target import Target

_ANONYMOUS = re.compile(r"^RssAnon:\s*(\d+) kB", re.MULTILINE)


def limit_memory(memory_bytes: int, target: Target, groups: ControlGroups) -> tuple[Verdict, ...]:
    """Bound what the target takes from now on; beyond it the kernel first takes page cache back, then kills.

    A bound below what the target already holds would only kill it, and stays advice.
    """

    def write(group: Group) -> None:
        name = "memory.max" if group.unified else "memory.limit_in_bytes"
        target.files.write(group.folder / name, str(memory_bytes))

    held_bytes = _read_held_bytes(target)
    if memory_bytes <= held_bytes:
        why = f"it holds {format_bytes(held_bytes)} already and would be killed"
        return (Advice("memory_bytes", memory_bytes, why),)
    try:
        group = groups.limit("memory", write)
    except ResourceRefused as refusal:
        return (Advice("memory_bytes", memory_bytes, str(refusal)),)
    return (Enforced("memory_bytes", memory_bytes, f"what it takes from now on, in {group.folder}"),)


def _read_held_bytes(target: Target) -> int:
    """Return the memory that the kernel cannot reclaim without swap, bytes."""
    total_kib = 0
    for pid in target.pids:
        try:
            status = (target.host.proc / str(pid) / "status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended since it was listed
        if (match := _ANONYMOUS.search(status)) is not None:
            total_kib += int(match[1])
    return total_kib * KIB
