"""Check what a host needs for FLD_TCP; an error says in one line what is missing."""

import ctypes
import os
import platform
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from tradewind_agent.errors import TransportFailed

BTF = Path("/sys/kernel/btf/vmlinux")
"""The types of the running kernel."""

LEAST_KERNEL = (6, 10)
"""Since then ``cong_control`` knows what an acknowledgement covers; pinned links of struct_ops came with 6.4."""

PROGRAMS = {"clang": "clang", "bpftool": "bpftool"}
"""Programs that compile, and Debian's packages of them."""

LIBRARY = "libbpf.so.1"
LIBRARY_PACKAGE = "libbpf1"
HEADERS_PACKAGE = "libbpf-dev"

_CAPABILITIES = {"CAP_BPF": 39, "CAP_PERFMON": 38, "CAP_NET_ADMIN": 12}
"""Of linux/capability.h: to load programs, such that read kernel structures, and of TCP."""

_SYSTEM_FOLDERS = "/usr/sbin:/sbin"
"""Where Debian keeps bpftool; not in everybody's path."""

_STRUCT_OPS = b"\0bpf_struct_ops_tcp_congestion_ops\0"


@dataclass(frozen=True, slots=True)
class Tools:
    """Programs that compile, by their paths."""

    clang: str
    bpftool: str


def require_kernel(btf: Path = BTF) -> None:
    """Check that the kernel accepts a congestion control from this process.

    Raises
    ------
    TransportFailed : it cannot; in one line, why and what to do.
    """
    if not sys.platform.startswith("linux"):
        raise TransportFailed(f"FLD_TCP is for Linux; this is {platform.system()}")
    _require_version(platform.release())
    require_capabilities()
    try:
        types = btf.read_bytes()
    except OSError as failure:
        raise TransportFailed(
            f"no BTF of the running kernel at {btf} ({failure.strerror}); use a kernel with CONFIG_DEBUG_INFO_BTF=y"
        ) from None
    if _STRUCT_OPS not in types:
        raise TransportFailed(
            "this kernel takes no congestion control in eBPF; use one with CONFIG_BPF_JIT=y and CONFIG_BPF_SYSCALL=y"
        )


def _require_version(release: str) -> None:
    found = re.match(r"(\d+)\.(\d+)", release)
    if found is not None and (int(found[1]), int(found[2])) < LEAST_KERNEL:
        least = ".".join(map(str, LEAST_KERNEL))
        raise TransportFailed(f"kernel {release} is too old for FLD_TCP; it needs Linux {least} or newer")


def require_capabilities() -> None:
    """Raise `TransportFailed` where this process may not change what the kernel has loaded."""
    held = _compute_effective_capabilities()
    missing = [name for name, bit in _CAPABILITIES.items() if not held >> bit & 1]
    if missing:
        who = "root without these" if os.geteuid() == 0 else "not root"
        raise TransportFailed(f"{', '.join(missing)} needed to change the kernel's transport ({who}); run it with sudo")


def _compute_effective_capabilities() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0


def require_tools() -> Tools:
    """Return the programs that compile the source.

    Raises
    ------
    TransportFailed : names the packages that are missing, as Debian calls them.
    """
    where = f"{os.environ.get('PATH', os.defpath)}:{_SYSTEM_FOLDERS}"
    found = {name: shutil.which(name, path=where) for name in PROGRAMS}
    missing = [package for name, package in PROGRAMS.items() if found[name] is None]
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        missing.append(LIBRARY_PACKAGE)
    if missing:
        needed = " ".join([*missing, HEADERS_PACKAGE])
        raise TransportFailed(f"FLD_TCP is compiled here and needs these packages (names of Debian): {needed}")
    return Tools(clang=found["clang"] or "", bpftool=found["bpftool"] or "")
