"""What goes on beside a benchmark, in a thread of its own."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def beside(name: str, work: Callable[[threading.Event], None]) -> Iterator[None]:
    """``work`` is called once, with the event that tells it to return at the end of the context."""
    stopping = threading.Event()
    thread = threading.Thread(target=work, args=(stopping,), name=name)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def turns(stopping: threading.Event, every_s: float) -> Iterator[None]:
    """A turn after each pause, until the event is set."""
    while not stopping.wait(every_s):
        yield
