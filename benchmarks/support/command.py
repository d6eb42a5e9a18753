"""Run a benchmark as a command: an error is one line, and an interrupted benchmark cleans up."""

import signal
import sys
from collections.abc import Callable

from tradewind.errors import TradewindError

FAILED, INTERRUPTED = 1, 130


def run_command(name: str, work: Callable[[], int], *, is_resumable: bool = False) -> int:
    """Run ``work`` and return the exit code.

    ``is_resumable`` : an interrupted run keeps what it has measured for the next.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts a background job with SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup(1) asks to continue without a terminal
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        return work()
    except TradewindError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return FAILED
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{name}: interrupted{'; the next start continues from here' if is_resumable else ''}\n")
        return INTERRUPTED
