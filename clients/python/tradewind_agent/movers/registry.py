"""The registry of tools: which one a command line runs, and whether it is installed and new enough."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from tradewind.errors import InvalidValue
from tradewind_agent.errors import ToolUnusable
from tradewind_agent.movers.aria2.mover import Aria2Mover
from tradewind_agent.movers.aws.mover import AwsMover
from tradewind_agent.movers.baselines import list_baselines
from tradewind_agent.movers.curl.mover import CurlMover
from tradewind_agent.movers.globus.mover import GlobusMover
from tradewind_agent.movers.port import Mover
from tradewind_agent.movers.rclone.mover import RcloneMover
from tradewind_agent.movers.s5cmd.mover import S5cmdMover
from tradewind_agent.movers.tool_query import query_tool

_VERSION = re.compile(r"\bv?(\d+(?:\.\d+)+)")


@dataclass(frozen=True, slots=True)
class InstalledTool:
    """A tool as it is on this host; ``version`` is ``None`` where it prints none."""

    mover: Mover
    program: str
    version: str | None


def list_movers() -> tuple[Mover, ...]:
    """Return every tool that can be wrapped: those that are tuned, then those that are only measured."""
    return (RcloneMover(), Aria2Mover(), CurlMover(), GlobusMover(), AwsMover(), S5cmdMover(), *list_baselines())


def find_mover(program: str) -> Mover:
    """Return the tool that a program is, by its name without folders.

    Raises
    ------
    InvalidValue : an unknown one.
    """
    named = os.path.basename(program)  # noqa: PTH119  # a word of a command line, "" included
    for mover in list_movers():
        if named in mover.programs:
            return mover
    is_tuned = ", ".join(mover.programs[0] for mover in list_movers() if mover.is_tuned)
    measured = ", ".join(mover.programs[0] for mover in list_movers() if not mover.is_tuned)
    raise InvalidValue("wrap", f"does not know {named!r}; it tunes {is_tuned}, and measures {measured}")


def find_installed(mover: Mover, program: str, environment: Mapping[str, str]) -> InstalledTool:
    """Return the program, if it can be run and is not too old.

    Raises
    ------
    ToolUnusable : it is missing, too old, or no such tool.
    """
    found = shutil.which(program, path=environment.get("PATH"))
    if found is None:
        install = f"; on Debian and Ubuntu: apt install {mover.package}" if mover.package else ""
        raise ToolUnusable(f"{program} is not installed{install}")
    if not mover.version_words:
        return InstalledTool(mover, found, None)
    match = _VERSION.search(query_tool((found, *mover.version_words)))
    if match is None:
        raise ToolUnusable(
            f"{found} does not tell its version with {' '.join(mover.version_words)}: is it {mover.name}?"
        )
    if _parse_version(match[1]) < mover.oldest:
        needed = ".".join(str(part) for part in mover.oldest)
        package = f" (package {mover.package})" if mover.package else ""
        raise ToolUnusable(f"{found} is version {match[1]}; {needed} or newer is needed{package}")
    return InstalledTool(mover, found, match[1])


def _parse_version(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
