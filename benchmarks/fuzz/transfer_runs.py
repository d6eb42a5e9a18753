"""Run drawn transfers side by side, and list what went wrong with each."""

import asyncio
import logging
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.fuzz.packed_transfers import DrawnPackedDownload, DrawnPackedUpload
from benchmarks.fuzz.random_transfers import DrawnDownload, DrawnTransfer, DrawnUpload

AT_ONCE = 24
"""Transfers side by side: most of their time they wait."""

KINDS: Mapping[str, type[DrawnTransfer]] = {
    "2": DrawnPackedDownload,
    "7": DrawnPackedDownload,
    "5": DrawnPackedUpload,
    "4": DrawnUpload,
    "9": DrawnUpload,
}
"""Kinds by the last digit of their seeds; all others are downloads of files as they are."""


class _ErrorLog(logging.Handler):
    """Lists what the server logs as an error: a defect of its own."""

    def __init__(self, found: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        self._found.append(f"the server failed: {record.getMessage()} {record.exc_info and record.exc_info[1]!r}")


def run_transfers(count: int, seed: int) -> list[str]:
    """Run ``count`` drawn transfers; return a line for each that went wrong, with the seed that repeats it."""
    return asyncio.run(run_seeds([f"{seed}-{number}" for number in range(count)]))


async def run_seeds(seeds: Sequence[str]) -> list[str]:
    """Run the transfers of these seeds; return the same."""
    found: list[str] = []
    waiting = iter(seeds)
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: found.append(f"a callback failed: {context.get('exception') or context['message']!r}")
    )

    async def work() -> None:
        for seed in waiting:
            kind = KINDS.get(seed[-1], DrawnDownload)
            with tempfile.TemporaryDirectory(prefix="tradewind-fuzz-") as folder:
                try:
                    faults = await kind(seed, Path(folder)).run()
                except Exception as defect:  # noqa: BLE001 -- what is looked for
                    faults = [f"it crashed: {defect!r}"]
            found.extend(f"transfer {seed}: {fault}" for fault in faults)

    log, agent_log = _ErrorLog(found), logging.getLogger("tradewind_agent")
    agent_log.addHandler(log)
    try:
        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    finally:
        agent_log.removeHandler(log)
    return found
