"""Modules loaded in the background, while the program waits for the network."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread


@contextmanager
def load_in_background(*modules: str, after_s: float = 0.0) -> Iterator[None]:
    """Load modules in the background during the block, from ``after_s`` on; a started load ends with the block.

    A module that fails to load fails again, with its error, where it is imported.
    """
    has_ended = Event()

    def load() -> None:
        if not has_ended.wait(after_s):
            _load(modules)

    thread = Thread(target=load, name="tradewind-loading", daemon=True)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


def _load(modules: tuple[str, ...]) -> None:
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:  # noqa: BLE001 -- see `load_in_background`
            return
