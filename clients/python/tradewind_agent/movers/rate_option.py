"""The option by which each tool keeps a network rate itself; a user's own use of it wins."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tradewind.units import BITS_PER_BYTE, KIB
from tradewind_agent.resources.applied import Advice, Enforced, Verdict


class RateOption(NamedTuple):
    """``names`` : long names, or letters, of options that say a rate; ``words`` : of one, from bytes/s of a transfer.

    ``each`` : whether it holds for each file of those at once, not for all of them together.
    ``per_file`` : those of ``names``, and further options, that a user sets for each file.
    ``unit_bps`` : of an amount without a unit, such as 8 for bytes/s.
    """

    names: tuple[str, ...]
    words: Callable[[int], tuple[str, ...]]
    each: bool = False
    per_file: tuple[str, ...] = ()
    unit_bps: int = BITS_PER_BYTE


def _make_kilobit_option(bytes_per_s: int) -> tuple[str, ...]:
    return ("-l", str(max(bytes_per_s * BITS_PER_BYTE // KIB, 1)))  # scp(1), sftp(1): Kbit/s, 1024 of them


_OPTIONS: Mapping[str, RateOption] = {
    "rclone": RateOption(
        ("bwlimit",),
        lambda rate: ("--bwlimit", f"{rate}B"),
        per_file=("bwlimit-file",),
        unit_bps=BITS_PER_BYTE * KIB,
    ),
    "aria2": RateOption(
        ("max-overall-download-limit", "max-download-limit"),
        lambda rate: (f"--max-overall-download-limit={rate}",),
        per_file=("max-download-limit",),
    ),
    "curl": RateOption(("limit-rate",), lambda rate: ("--limit-rate", str(rate)), each=True, per_file=("limit-rate",)),
    "aws": RateOption(("max_bandwidth",), lambda rate: (f"{max(rate // KIB, 1)}KB/s",)),
    "scp": RateOption(("l",), _make_kilobit_option, unit_bps=KIB),
    "sftp": RateOption(("l",), _make_kilobit_option, unit_bps=KIB),
    "rsync": RateOption(("bwlimit",), lambda rate: (f"--bwlimit={max(rate // KIB, 1)}",), unit_bps=BITS_PER_BYTE * KIB),
}

_AMOUNT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([bkmgtp]?)(?:i?b?)(?:/s)?", re.IGNORECASE)
_UNIT_BPS = MappingProxyType(
    {"b": BITS_PER_BYTE} | {unit: BITS_PER_BYTE * KIB**n for n, unit in enumerate("kmgtp", start=1)}
)


def find_user_rate_bps(tool: str, own_options: Mapping[str, Sequence[str]], *, files_at_once: int = 1) -> float | None:
    """Return the lowest rate that the user's own options hold the tool to, all files together; ``None`` without one.

    Of a timetable or of a rate for each direction the lowest counts.
    """
    option = _OPTIONS.get(tool)
    if option is None:
        return None
    rates = [
        rate * (files_at_once if name in option.per_file else 1)
        for name in dict.fromkeys((*option.names, *option.per_file))
        for value in own_options.get(name, ())[-1:]
        for rate in parse_rates(value, option.unit_bps)
    ]
    return min(rates, default=None)


def parse_rates(text: str, unit_bps: int = BITS_PER_BYTE * KIB) -> Iterator[float]:
    """Yield the rates, bit/s, that the value of a rate option states; 0 and "off" are no limit.

    rclone also takes ``UP:DOWN`` and timetables such as ``08:00,512k 19:00,10M`` (rclone docs, --bwlimit).
    """
    for entry in text.split():
        for amount in entry.rpartition(",")[2].split(":"):
            found = _AMOUNT.fullmatch(amount)
            if found is not None and float(found[1]) > 0:
                yield float(found[1]) * _UNIT_BPS.get(found[2].lower(), unit_bps)


def make_rate_option(
    tool: str, rate_bps: float | None, own_options: Collection[str], *, at_once: int = 1
) -> tuple[str, ...]:
    """Return the words that hold the tool to a rate; none where it has no option, or the user has set it."""
    option = _OPTIONS.get(tool)
    if rate_bps is None or option is None or not set(option.names).isdisjoint(own_options):
        return ()
    return option.words(max(int(rate_bps / BITS_PER_BYTE / (at_once if option.each else 1)), 1))


def judge_rate_limit(tool: str, rate_bps: float, own_options: Collection[str]) -> Verdict:
    """Return what becomes of a limit of the network rate."""
    option = _OPTIONS.get(tool)
    if option is None:
        return Advice("nic_bps", rate_bps, f"{tool} has no option for a rate, and the kernel limits no processes")
    if own := set(option.names) & set(own_options):
        return Advice("nic_bps", rate_bps, f"{tool} runs with the {_format_option(min(own))} that you have set")
    parts = ", an equal part for each file at once" if option.each else ""
    return Enforced("nic_bps", rate_bps, f"{tool}'s own {_format_option(option.names[0])}{parts}")


def _format_option(name: str) -> str:
    if "_" in name:
        return f"s3.{name}"  # a value of aws's configuration
    return f"-{name}" if len(name) == 1 else f"--{name}"
