"""The option by which each tool keeps a network rate itself; a user's own use of it wins."""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from tradewind.units import BITS_PER_BYTE, KIB
from tradewind_agent.resources.applied import Advice, Enforced, Verdict


class RateOption(NamedTuple):
    """``names`` : long names, or letters, of options that say a rate; ``words`` : of one, from bytes/s of a transfer.

    ``each`` : whether it holds for each file of those at once, not for all of them together.
    """

    names: tuple[str, ...]
    words: Callable[[int], tuple[str, ...]]
    each: bool = False


def _kilobits(bytes_per_s: int) -> tuple[str, ...]:
    return ("-l", str(max(bytes_per_s * BITS_PER_BYTE // KIB, 1)))  # scp(1), sftp(1): Kbit/s, 1024 of them


_OPTIONS: Mapping[str, RateOption] = {
    "rclone": RateOption(("bwlimit",), lambda rate: ("--bwlimit", f"{rate}B")),
    "aria2": RateOption(
        ("max-overall-download-limit", "max-download-limit"), lambda rate: (f"--max-overall-download-limit={rate}",)
    ),
    "curl": RateOption(("limit-rate",), lambda rate: ("--limit-rate", str(rate)), each=True),
    "scp": RateOption(("l",), _kilobits),
    "sftp": RateOption(("l",), _kilobits),
    "rsync": RateOption(("bwlimit",), lambda rate: (f"--bwlimit={max(rate // KIB, 1)}",)),
}


def rate_words(tool: str, rate_bps: float | None, own_options: Collection[str], *, at_once: int = 1) -> tuple[str, ...]:
    """Words that hold the tool to a rate; none where it has no option, or the user has set it."""
    option = _OPTIONS.get(tool)
    if rate_bps is None or option is None or not set(option.names).isdisjoint(own_options):
        return ()
    return option.words(max(int(rate_bps / BITS_PER_BYTE / (at_once if option.each else 1)), 1))


def rate_verdict(tool: str, rate_bps: float, own_options: Collection[str]) -> Verdict:
    """What becomes of a limit of the network rate."""
    option = _OPTIONS.get(tool)
    if option is None:
        return Advice("nic_bps", rate_bps, f"{tool} has no option for a rate, and the kernel limits no processes")
    if own := set(option.names) & set(own_options):
        return Advice("nic_bps", rate_bps, f"{tool} runs with the {_typed(min(own))} that you have set")
    parts = ", an equal part for each file at once" if option.each else ""
    return Enforced("nic_bps", rate_bps, f"{tool}'s own {_typed(option.names[0])}{parts}")


def _typed(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"
