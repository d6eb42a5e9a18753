"""What the service and its libraries write while a test goes on."""

import contextlib
import io
import logging
from collections.abc import Callable, Iterator

OF_THE_TEST = ("httpx", "httpcore", "asyncio")


@contextlib.contextmanager
def everything_written() -> Iterator[Callable[[], str]]:
    """All that parts made meanwhile write, and that libraries say above their details; call it for what was so far."""
    log, handler, root = io.StringIO(), _Written(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        with contextlib.redirect_stderr(log):
            yield lambda: log.getvalue() + "\n".join(handler.lines)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


class _Written(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, entry: logging.LogRecord) -> None:
        if not entry.name.startswith(OF_THE_TEST):
            self.lines.append(self.format(entry))
