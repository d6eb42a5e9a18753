"""The source of FLD_TCP, and its compilation against the types of the running kernel."""

import hashlib
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tradewind_agent.errors import TransportFailed
from tradewind_agent.transport.parameters import DIGEST_BYTES
from tradewind_agent.transport.requirements import HEADERS_PACKAGE, Tools

SOURCE_NAME = "fld_tcp.bpf.c"
_INCLUDED = ("fld_reduction.h", "fld_slow_start.h", "fld_state.h")
"""Files that the source includes, in the same folder."""

_FLAGS = ("-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror")
_MACHINES = {"x86_64": "x86", "aarch64": "arm64"}
"""Names of machines as libbpf's headers want them."""


def find_source() -> Path:
    """Return the path of the source: with the installed distribution, or in the bpf folder of a checkout.

    Raises
    ------
    TransportFailed : it was not installed.
    """
    here = Path(__file__).resolve()
    for candidate in (here.parent / SOURCE_NAME, here.parents[3] / "bpf" / SOURCE_NAME):
        if candidate.is_file():
            return candidate
    raise TransportFailed(f"{SOURCE_NAME} is missing next to {here.parent}; install the agent again")


def compute_source_digest() -> bytes:
    """Return a digest that identifies the version of the source."""
    source = find_source()
    parts = (source, *(source.with_name(name) for name in _INCLUDED))
    return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).digest()[:DIGEST_BYTES]


def compile_object(tools: Tools, btf: Path, folder: Path) -> Path:
    """Compile the object for the kernel that ``btf`` describes into ``folder``.

    Raises
    ------
    TransportFailed : bpftool or clang fails; with its first error.
    """
    types = _run_command([tools.bpftool, "btf", "dump", "file", btf, "format", "c"])
    (folder / "vmlinux.h").write_bytes(types)
    machine = platform.machine()
    made = folder / "fld_tcp.bpf.o"
    _run_command(
        [
            tools.clang,
            *_FLAGS,
            f"-D__TARGET_ARCH_{_MACHINES.get(machine, machine)}",
            f"-I{folder}",
            "-c",
            find_source(),
            "-o",
            made,
        ]
    )
    return made


def _run_command(command: Sequence[str | Path]) -> bytes:
    done = subprocess.run([str(part) for part in command], capture_output=True, check=False)
    if done.returncode:
        output_lines = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing said"]
        first_error = next((line for line in output_lines if "error" in line.lower()), output_lines[0])
        if "bpf/bpf_" in first_error:
            first_error = f"its headers are missing; install {HEADERS_PACKAGE}"
        raise TransportFailed(f"{Path(str(command[0])).name} cannot build FLD_TCP: {first_error}")
    return done.stdout
