"""Modules loaded in the background, while the program waits for the network."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread


@contextmanager
def load_in_background(*modules: str) -> Iterator[None]:
    """Load modules in the background during the block; they are loaded when it ends.

    A module that fails to load fails again, with its error, where it is imported.
    """
    thread = Thread(target=_load, args=(modules,), name="tradewind-loading", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _load(modules: tuple[str, ...]) -> None:
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:  # noqa: BLE001 -- see `load_in_background`
            return
