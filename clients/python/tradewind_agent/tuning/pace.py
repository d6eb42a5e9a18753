"""How often a copy is sampled, and how long it waits for a share of its path."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

TICK_S = 5.0
SHARE_PATIENCE_S = 600.0
"""How long a copy waits for a share of a path whose caps are in use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often a copy is sampled, and how long it waits for a share.

    ``tick_s`` : time between two samples; ``None`` lets the service choose, with 5 s until it does.
    """

    tick_s: float | None = None
    share_patience_s: float = SHARE_PATIENCE_S
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock_s: Callable[[], float] = time.monotonic
