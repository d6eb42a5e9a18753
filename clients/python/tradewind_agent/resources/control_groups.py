"""Control groups of a transfer: version 1, version 2 or both at once (hybrid), made below where the process is.

Version 1 has a tree a controller; version 2 has one tree, in which a group may hand controllers down only when it has
no processes of its own (cgroups(7), "no internal processes"). Then the new group is a sibling of the process's own one,
as long as that one sets no limits that the process would escape. A controller that was handed down for it stays handed
down: it limits nothing by itself, and others may use it by then.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tradewind_agent.errors import ResourceRefused
from tradewind_agent.resources.ledger import GroupClaim
from tradewind_agent.resources.target import Target
from tradewind_agent.system_errors import explain_os_error

_V2_LIMITS = ("cpu.max", "memory.max", "memory.high", "io.max")
_ROUNDS = 10
"""Times that a group's processes are moved out: some may be born meanwhile."""


@dataclass(frozen=True, slots=True)
class Group:
    """A control group made for a transfer."""

    folder: Path
    unified: bool


class ControlGroups:
    """The groups of one target, made as they are needed."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._unified: Group | None = None

    def limit(self, controller: str, write: Callable[[Group], None]) -> Group:
        """Make the controller's group, have ``write`` set its limits, and put the target's processes in.

        Raises
        ------
        ResourceRefused : the controller is not there, or the kernel does not permit it; nothing is left behind.
        """
        target = self._target
        try:
            origin, unified = self._find_group(controller)
            if unified and self._unified is not None:
                self._hand_down(self._unified.folder.parent, controller)
                write(self._unified)
                return self._unified
            parent = self._build_parent(origin, controller) if unified else origin
        except OSError as refusal:
            raise _make_refusal(controller, refusal) from None
        group = Group(parent / f"tradewind-{target.entry.path.stem}", unified)
        claim = GroupClaim(str(group.folder), str(origin))
        target.entry.groups.append(claim)
        target.ledger.save(target.entry)
        try:
            target.files.make_folder(group.folder)
            write(group)
            for pid in target.pids:
                target.files.write(group.folder / "cgroup.procs", str(pid))
        except (OSError, ResourceRefused) as refusal:
            self._withdraw(claim)
            raise _make_refusal(controller, refusal) from None
        if unified:
            self._unified = group
        return group

    def _withdraw(self, claim: GroupClaim) -> None:
        if dissolve(claim, self._target) is None:
            self._target.entry.groups.remove(claim)
            self._target.ledger.save(self._target.entry)

    def _find_group(self, controller: str) -> tuple[Path, bool]:
        """Return the target's present group for this controller, and whether it is in version 2's tree."""
        files, root = self._target.files, self._target.host.cgroup
        paths = self._build_paths()
        if files.is_there(root / controller / "cgroup.procs"):
            return self._find_visible(root / controller, paths.get(controller, "/")), False
        for tree in (root, root / "unified"):
            if files.is_there(tree / "cgroup.controllers"):
                if controller not in files.read(tree / "cgroup.controllers").split():
                    break
                return self._find_visible(tree, paths.get("", "/")), True
        raise ResourceRefused(f"this host has no control groups for {controller}")

    def _find_visible(self, tree: Path, path: str) -> Path:
        """Return the folder of the group; the tree's root where a container sees its own group there, whatever the
        path.
        """
        group = tree / path.lstrip("/")
        return group if self._target.files.is_there(group / "cgroup.procs") else tree

    def _build_paths(self) -> dict[str, str]:
        """Return the target's group by controller; that of version 2 has the empty name."""
        lines = (self._target.host.proc / str(self._target.pid) / "cgroup").read_text().splitlines()
        split = (line.split(":", 2) for line in lines)
        return {name: path for _, names, path in split for name in names.split(",")}

    def _build_parent(self, own: Path, controller: str) -> Path:
        """Return the process's own group of version 2 if that can hand the controller down, else its parent."""
        try:
            self._hand_down(own, controller)
        except OSError:
            files = self._target.files
            if not files.is_there(own.parent / "cgroup.subtree_control") or self._has_limits(own):
                raise
            self._hand_down(own.parent, controller)
            return own.parent
        return own

    def _hand_down(self, group: Path, controller: str) -> None:
        control = group / "cgroup.subtree_control"
        if controller not in self._target.files.read(control).split():
            self._target.files.write(control, f"+{controller}")

    def _has_limits(self, group: Path) -> bool:
        """Return whether a group of version 2 sets any limit of its own."""
        files = self._target.files
        set_here = (files.read(group / name).split() for name in _V2_LIMITS if files.is_there(group / name))
        return any(words and words[0] != "max" for words in set_here)


def dissolve(claim: GroupClaim, target: Target) -> str | None:
    """Move the processes of a group back and remove it; return the reason if that fails."""
    files, group = target.files, Path(claim.group)
    if not files.is_there(group):
        return None
    try:
        for _ in range(_ROUNDS):
            members = files.read(group / "cgroup.procs").split()
            if not members:
                break
            for pid in members:
                _move(pid, Path(claim.origin), target)
        files.remove_folder(group)
    except OSError as failure:
        return f"the control group {group} could not be removed: {explain_os_error(failure).what}"
    return None


def _move(pid: str, destination: Path, target: Target) -> None:
    try:
        target.files.write(destination / "cgroup.procs", pid)
    except ProcessLookupError:
        return  # it ended since it was listed


def _make_refusal(controller: str, refusal: OSError | ResourceRefused) -> ResourceRefused:
    if isinstance(refusal, ResourceRefused):
        return refusal
    return ResourceRefused(f"control groups for {controller} cannot be used: {explain_os_error(refusal).what}")
