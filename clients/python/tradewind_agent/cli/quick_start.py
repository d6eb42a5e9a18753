"""What lets a command start quickly: modules that load while it waits for the network, and no garbage collections."""

import gc
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

BETWEEN_COLLECTIONS = 50_000
"""Objects. To look for garbage after every 700, Python's default, takes a sixth of the time that a command needs to
start."""

UNTIL_COPY_RUNS = 200_000
"""More than a copy makes before its first request; a collection among them would take a twentieth of the start."""


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


def collect_seldom() -> None:
    gc.set_threshold(BETWEEN_COLLECTIONS)


def put_collections_off() -> None:
    """Look for no garbage until the files of a copy are listed and its modules loaded, see `collect_what_comes`."""
    gc.set_threshold(UNTIL_COPY_RUNS)


def collect_what_comes() -> None:
    """Look for garbage as usual, but never again among what there is now."""
    gc.freeze()
    gc.set_threshold(BETWEEN_COLLECTIONS)
