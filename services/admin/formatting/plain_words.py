"""What models and rules say, as the words of a provider: settings, odds, decisions and reasons."""

import re
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from tradewind.parameters import Parameters
from tradewind.units import format_bytes, format_count

SMALLEST_ODDS = 100

_DECISIONS: Mapping[str, str] = MappingProxyType(
    {
        "hold": "nothing better in sight",
        "dwell": "waiting for the effect of the last change",
        "congestion": "giving up streams: others suffer",
        "restore": "taking streams back",
        "sla_below": "slower than promised: using more",
        "sla_above": "faster than promised: using less",
        "optimise": "changing to a better setting",
        "explore": "trying a setting",
        "change_detected": "the path has changed",
        "fallback": "the model does not fit this path: tuning by trial",
        "redistribute": "sharing streams out again",
        "finish": "too little left to change anything",
    }
)
_INCONSISTENT = re.compile(r"(?:[^;:]*\bworse\b[^;:]*: )?explains -?[\d,.]+ ?% of (?:their|the) variance[^;]*")
_TOO_INCONSISTENT = "too inconsistent to promise anything; more transfers needed"
_DISTANCE = re.compile(r"(?P<distance>\d+(?:\.\d+)?) (?:octaves|doublings) away")


def format_setting(parameters: Parameters) -> str:
    """Return a setting in words, such as ``4 files at once, 2 streams each, 4 requests in flight``."""
    files, streams = parameters.concurrency or 1, parameters.parallelism or 1
    words = [f"{format_count(files, 'file')} at once", f"{format_count(streams, 'stream')} each"]
    for name, value in parameters.list_known().items():
        if name == "pipelining":
            words.append(f"{format_count(int(value), 'request')} in flight")
        elif name == "io_block_bytes":
            words.append(f"I/O block {format_bytes(float(value))}")
        elif name == "part_bytes":
            words.append(f"parts of {format_bytes(float(value))}")
        elif name not in ("concurrency", "parallelism"):
            words.append(f"{name.replace('_', ' ')} {value}")
    return ", ".join(words)


def format_odds(confidence: float) -> str:
    """Return a probability as odds, such as ``9 times in 10``."""
    odds = Fraction(confidence).limit_denominator(SMALLEST_ODDS)
    return f"{format_count(odds.numerator, 'time')} in {odds.denominator}"


def format_decision(kind: str) -> str:
    """Return what the tuner did and why; a kind that this version does not know is returned with spaces."""
    return _DECISIONS.get(kind, kind.replace("_", " "))


def format_reason(reason: str) -> str:
    """Return the reason of a fit or a recommendation without the words of statistics."""
    plain = _INCONSISTENT.sub(_TOO_INCONSISTENT, reason)
    plain = re.sub(rf"{re.escape(_TOO_INCONSISTENT)}(?:; {re.escape(_TOO_INCONSISTENT)})+", _TOO_INCONSISTENT, plain)
    return _DISTANCE.sub(_format_distance, plain)


def _format_distance(found: re.Match[str]) -> str:
    if float(found["distance"]) == 0:
        return "of the same file sizes as in your history"
    return f"whose files differ from these by {found['distance']} doublings"
