"""Run work in a thread while a benchmark runs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def run_in_background(name: str, work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Call ``work`` once in a thread, with the event that makes it return at the end of the context."""
    stopping = threading.Event()
    thread = threading.Thread(target=work, args=(stopping,), name=name)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def repeat_until_stopped(stopping: threading.Event, every_s: float) -> Iterator[None]:
    """Yield after each pause, until the event is set."""
    while not stopping.wait(every_s):
        yield
