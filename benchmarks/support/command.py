"""How a benchmark's command ends: what goes wrong is one line; interrupted or told to end, it tidies up."""

import signal
import sys
from collections.abc import Callable

from tradewind.errors import TradewindError

FAILED, INTERRUPTED = 1, 130


def told(name: str, work: Callable[[], int], *, goes_on: bool = False) -> int:
    """Exit code of ``work``; ``goes_on`` : what an interrupted run has measured is kept for the next."""
    for ending in (signal.SIGINT, signal.SIGTERM):  # a shell starts what is not in front with the first ignored
        signal.signal(ending, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup(1) asks to go on without a terminal
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        return work()
    except TradewindError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return FAILED
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{name}: interrupted{'; the next start goes on from here' if goes_on else ''}\n")
        return INTERRUPTED
