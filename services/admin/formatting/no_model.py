"""Why a link has no model: how many logs there are, how many are needed, and what to do."""

import re
from typing import NamedTuple

from tradewind.units import format_bytes

_TOO_FEW = re.compile(r"(?P<there>\d+) rows? can be fitted but not validated: at least (?P<needed>\d+) are needed")
_SURFACE = re.compile(r"(?P<there>\d+) rows?: a surface needs at least (?P<needed>\d+)")
_BYTES = re.compile(r"\b(\d{4,}) bytes\b")


class NoModel(NamedTuple):
    """``there``, ``needed`` : logs of the data set nearest to a model; ``None`` where the reason is another one."""

    reason: str
    there: int | None
    needed: int | None

    @property
    def missing(self) -> int:
        return (self.needed or 0) - (self.there or 0)


def explain_no_model(reason: str) -> NoModel:
    """Return what a fit says of a link that it refused."""
    plain_reason = _BYTES.sub(lambda found: format_bytes(float(found[1])), reason)
    short = [
        (int(each["there"]), int(each["needed"])) for each in (*_TOO_FEW.finditer(reason), *_SURFACE.finditer(reason))
    ]
    if not short:
        return NoModel(plain_reason, None, None)
    return NoModel(plain_reason, *min(short, key=lambda pair: pair[1] - pair[0]))
