"""Zones that a CSV log has in a column of its own, for times without one."""

import re
from datetime import datetime, tzinfo

from tradewind_agent.history.importers.instants import find_zone

_HOURS = re.compile(r"1?\d(?::\d\d)?")
_UNCLEAR = re.compile(r"[+-]?\d{3}")
"""Offsets that may be minutes, such as ``-300``, whose sign is then the other one in some languages."""


def find_zone_of_row(written: str, at: datetime, default: tzinfo, *, is_given: bool) -> tzinfo:
    """Return the zone that a column names; an offset in hours may lack its sign.

    Parameters
    ----------
    is_given : the user named ``default``, which then counts where the column is not clear.

    Raises
    ------
    ValueError : it is not clear, and the user named none.
    """
    text = f"+{written}" if _HOURS.fullmatch(written) else written
    zone = None if _UNCLEAR.fullmatch(text) else find_zone(text, at, default)
    if zone is None and not is_given:
        raise ValueError(f"the zone {written} is unknown, or one of several; give it with --timezone")
    return zone or default
