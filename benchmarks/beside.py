"""What goes on beside a benchmark, in a thread of its own."""

import threading
from collections.abc import Callable, Iterator
from typing import Self


class Beside:
    """Works from the begin of its context to the end.

    Parameters
    ----------
    work : called once, in the thread, with the event that tells it to return.
    """

    def __init__(self, name: str, work: Callable[[threading.Event], None]) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=work, args=(self._stopping,), name=name)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()


def turns(stopping: threading.Event, every_s: float) -> Iterator[None]:
    """A turn after each pause, until the event is set."""
    while not stopping.wait(every_s):
        yield
