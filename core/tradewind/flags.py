"""A plan as ready flags for the tools people have, and what a tool cannot express.

Each tool means something of its own by these knobs; the comment beside a flag cites the tool's manual.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tradewind.parameters import Parameters

ARIA2_MAX_CONNECTIONS_PER_SERVER = 16
"""aria2 refuses more with ``-x`` (aria2c manual)."""


@dataclass(frozen=True, slots=True)
class ToolFlags:
    """Command-line flags of one tool, and the parameters that they leave out with the reason."""

    flags: str
    not_expressible: tuple[str, ...] = ()


def _rclone(parameters: Parameters) -> ToolFlags:
    # --transfers is files at once; --multi-thread-streams applies to files above the cutoff (rclone docs, global flags)
    flags = [f"--transfers {parameters.concurrency or 1}"]
    if (parameters.parallelism or 1) > 1:
        flags += [f"--multi-thread-streams {parameters.parallelism}", "--multi-thread-cutoff 1M"]
    else:
        flags.append("--multi-thread-streams 0")
    if parameters.io_block_bytes:
        flags.append(f"--buffer-size {parameters.io_block_bytes}B")
    return ToolFlags(" ".join(flags), _no_pipelining("rclone", parameters))


def _aria2(parameters: Parameters) -> ToolFlags:
    # -j files at once, -s pieces of a file, -x connections to one server; pipelining is a switch (aria2c manual)
    streams = min(parameters.parallelism or 1, ARIA2_MAX_CONNECTIONS_PER_SERVER)
    flags = [f"-j{parameters.concurrency or 1}", f"-s{streams}", f"-x{streams}", "--min-split-size=1M"]
    left_out: list[str] = []
    if (parameters.pipelining or 0) > 1:
        flags.append("--enable-http-pipelining=true")
        left_out.append("aria2: pipelining is a switch, its depth cannot be set")
    if (parameters.parallelism or 1) > ARIA2_MAX_CONNECTIONS_PER_SERVER:
        left_out.append(f"aria2: at most {ARIA2_MAX_CONNECTIONS_PER_SERVER} connections a server")
    return ToolFlags(" ".join(flags), tuple(left_out))


def _curl(parameters: Parameters) -> ToolFlags:
    # -Z transfers in parallel, --parallel-max how many (curl manual)
    left_out = list(_no_pipelining("curl", parameters))
    if (parameters.parallelism or 1) > 1:
        left_out.append("curl: one stream a file")
    return ToolFlags(f"-Z --parallel-max {parameters.concurrency or 1}", tuple(left_out))


def _globus_url_copy(parameters: Parameters) -> ToolFlags:
    # -cc files at once, -p streams a file, -pp a switch (globus-url-copy manual)
    flags = [f"-cc {parameters.concurrency or 1}", f"-p {parameters.parallelism or 1}"]
    left_out: tuple[str, ...] = ()
    if (parameters.pipelining or 0) > 1:
        flags.append("-pp")
        left_out = ("globus-url-copy: -pp is a switch, its depth cannot be set",)
    if parameters.io_block_bytes:
        flags.append(f"-bs {parameters.io_block_bytes}")
    return ToolFlags(" ".join(flags), left_out)


def _no_pipelining(tool: str, parameters: Parameters) -> tuple[str, ...]:
    return (f"{tool}: has no pipelining",) if (parameters.pipelining or 0) > 1 else ()


_TOOLS: dict[str, Callable[[Parameters], ToolFlags]] = {
    "rclone": _rclone,
    "aria2": _aria2,
    "curl": _curl,
    "globus-url-copy": _globus_url_copy,
}


def tool_flags(parameters: Parameters) -> tuple[dict[str, str], tuple[str, ...]]:
    """Flags of every known tool by its name, and one phrase for each parameter that a tool cannot express."""
    made = {tool: express(parameters) for tool, express in _TOOLS.items()}
    left_out = tuple(phrase for each in made.values() for phrase in each.not_expressible)
    return {tool: each.flags for tool, each in made.items()}, left_out
