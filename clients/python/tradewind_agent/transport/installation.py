"""Install FLD_TCP in this kernel, report its state, and remove it; repeating a command is harmless."""

import fcntl
import os
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tradewind_agent.errors import OtherVersionLoaded, TransportFailed
from tradewind_agent.transport.building import compile_object, compute_source_digest
from tradewind_agent.transport.libbpf import Library, Pins
from tradewind_agent.transport.parameters import LAYOUT_BYTES, Parameters
from tradewind_agent.transport.requirements import BTF, require_capabilities, require_kernel, require_tools

NAME = "fld_tcp"
"""What a socket asks for."""

BPF_FOLDER = Path("/sys/fs/bpf")
PIN_FOLDER = BPF_FOLDER / "tradewind"

LOCK = Path("/run/tradewind-transport.lock")

LETS_GO_WITHIN_S = 5.0

_TCP = Path("/proc/sys/net/ipv4")


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of FLD_TCP in this kernel.

    Attributes
    ----------
    registered : sockets can choose it.
    ours : a pinned link of ours keeps it; else somebody else registered it. ``None`` where it may not be looked at.
    parameters : it was loaded with; ``None`` where they cannot be read.
    current : whether it was loaded from the source that we have, with parameters that this version knows.
    unknown : why this version does not know its parameters.
    default : the system's own congestion control, which we never change.
    """

    registered: bool
    ours: bool | None = False
    parameters: Parameters | None = None
    current: bool | None = None
    unknown: str | None = None
    default: str

    def build_document(self) -> dict[str, object]:
        return {
            "name": NAME,
            "registered": self.registered,
            "ours": self.ours,
            "current": self.current,
            "parameters": None if self.parameters is None else self.parameters.build_document(),
            "parameters_unknown": self.unknown,
            "system_default": self.default,
        }


@dataclass(frozen=True, slots=True)
class Change:
    """The steps of a command, or of a dry run; none if the state is already right."""

    steps: tuple[str, ...]
    state: State


def read_state(pins: Pins | None = None) -> State:
    """Return the present state; this also works without the right to change it."""
    pins = pins or Pins(PIN_FOLDER)
    try:
        default = (_TCP / "tcp_congestion_control").read_text(encoding="ascii").strip()
        registered = NAME in (_TCP / "tcp_available_congestion_control").read_text(encoding="ascii").split()
    except OSError as failure:
        raise TransportFailed(f"{failure.filename} cannot be read: {failure.strerror}; this needs Linux") from None
    try:
        pins.link.stat()  # not `exists`, which takes what it may not see for what there is not
    except PermissionError:
        return State(registered=registered, ours=None, default=default)
    except OSError:
        return State(registered=registered, default=default)
    try:
        parameters, digest = Parameters.unpack(Library().read_constants(pins.parameters, LAYOUT_BYTES))
    except OtherVersionLoaded as other:
        return State(registered=registered, ours=True, current=False, unknown=str(other), default=default)
    except (TransportFailed, OSError):
        return State(registered=registered, ours=True, default=default)
    return State(
        registered=registered,
        ours=True,
        parameters=parameters,
        current=digest == compute_source_digest(),
        default=default,
    )


def install(parameters: Parameters, *, btf: Path = BTF, dry_run: bool = False, pins: Pins | None = None) -> Change:
    """Compile it for this kernel and load it with ``parameters``; it stays until `remove` or the next boot.

    Raises
    ------
    TransportFailed : the host lacks something, or has another version loaded; nothing has changed then, but that the
        BPF file system may be mounted.
    """
    pins = pins or Pins(PIN_FOLDER)
    require_kernel(btf)
    with _lock_host():
        return _install_locked(parameters, btf, pins, dry_run=dry_run)


def _install_locked(parameters: Parameters, btf: Path, pins: Pins, *, dry_run: bool) -> Change:
    state = read_state(pins)
    if state.registered and state.ours and state.current and state.parameters == parameters:
        return Change((), state)
    tools = require_tools()  # before what is loaded is judged, which cannot be read without libbpf
    _require_free(state, pins)
    steps = (
        *(() if _is_bpf_file_system(BPF_FOLDER) else (f"mount the BPF file system at {BPF_FOLDER}",)),
        f"compile it with {tools.clang} for the types in {btf}",
        f"register {NAME} and keep it by {pins.link}",
    )
    if dry_run:
        return Change(steps, state)
    with tempfile.TemporaryDirectory(prefix="tradewind-transport-") as folder:
        made = compile_object(tools, btf, Path(folder))
        _mount_bpf_file_system()
        with _open_folder(pins):
            Library().load(made, name=NAME, constants=parameters.pack(compute_source_digest()), pins=pins)
    return Change(steps, read_state(pins))


def remove(*, dry_run: bool = False, pins: Pins | None = None) -> Change:
    """Remove it from the kernel: no socket can choose it then; sockets that use it keep it until they are closed.

    Raises
    ------
    TransportFailed : it is not permitted, or somebody else registered it.
    """
    pins = pins or Pins(PIN_FOLDER)
    with _lock_host():
        return _remove_locked(pins, dry_run=dry_run)


def _remove_locked(pins: Pins, *, dry_run: bool) -> Change:
    state = read_state(pins)
    if not state.registered and state.ours is False and not pins.parameters.exists():
        return Change((), state)
    require_capabilities()
    if not state.ours and not pins.parameters.exists():
        raise TransportFailed(_explain_other_registration())
    steps = (f"remove {pins.link}, which unregisters {NAME}",)
    if dry_run:
        return Change(steps, state)
    _require_own(pins.folder)
    pins.link.unlink(missing_ok=True)
    pins.parameters.unlink(missing_ok=True)
    with suppress(OSError):  # something of another's is in it
        pins.folder.rmdir()
    return Change(steps, _wait_until_unregistered(pins))


@contextmanager
def _lock_host() -> Iterator[None]:
    """Lock out other installations and removals on this host; without the right to change it, lock nothing."""
    try:
        descriptor = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    with os.fdopen(descriptor) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _open_folder(pins: Pins) -> Iterator[None]:
    """Create the folder of the pins; remove it again if the block fails."""
    pins.folder.mkdir(mode=0o700, exist_ok=True)
    _require_own(pins.folder)
    try:
        yield
    except TransportFailed:
        with suppress(OSError):
            pins.folder.rmdir()
        raise


def _require_own(folder: Path) -> None:
    """Check that only root can write the folder that keeps a congestion control loaded.

    Raises
    ------
    TransportFailed
    """
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o022:
        raise TransportFailed(f"{folder} is no folder of root's alone; see who made it, and remove it")


def _wait_until_unregistered(pins: Pins) -> State:
    """Wait until the kernel has released it, a moment after its last pin is gone, and return the state.

    Raises
    ------
    TransportFailed : it does not, as when another program holds it, too.
    """
    deadline_s = time.monotonic() + LETS_GO_WITHIN_S
    while (state := read_state(pins)).registered:
        if time.monotonic() > deadline_s:
            raise TransportFailed(f"{NAME} is still registered: another program holds it, too; end that")
        time.sleep(0.01)
    return state


def _require_free(state: State, pins: Pins) -> None:
    if state.ours:
        held = {True: f"{NAME} with other parameters", False: "another version", None: f"a {NAME} that cannot be read"}
        raise TransportFailed(f"{held[state.current]} is loaded; run `tradewind transport remove` first")
    if state.registered:
        raise TransportFailed(_explain_other_registration())
    if pins.parameters.exists():
        raise TransportFailed(
            f"{pins.parameters} is left of an interrupted installation; run `tradewind transport remove`"
        )


def _explain_other_registration() -> str:
    return f"{NAME} is registered by another program; end it, or run `bpftool struct_ops unregister name {NAME}`"


def _is_bpf_file_system(folder: Path) -> bool:
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    return any(line.split()[1:3] == [str(folder), "bpf"] for line in lines)


def _mount_bpf_file_system() -> None:
    if _is_bpf_file_system(BPF_FOLDER):
        return
    done = subprocess.run(
        ["mount", "-t", "bpf", "-o", "mode=0700", "bpf", BPF_FOLDER], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise TransportFailed(f"the BPF file system cannot be mounted at {BPF_FOLDER}: {done.stderr.strip()}")
