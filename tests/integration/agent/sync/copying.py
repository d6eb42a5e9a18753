"""Copies in this process, without a service."""

import os
from pathlib import Path
from typing import Any

from tests.integration.engine.transfers import options
from tradewind.parameters import Parameters
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.copy.run import copy_files


def copy(source: str | Path, destination: str | Path, **engine: Any) -> CopyReport:
    """Copy a folder or file with options of the engine."""
    by_hand = Parameters(concurrency=3, parallelism=1, pipelining=1)
    settings = CopyOptions(by_hand=by_hand, tune=False, engine=options(**engine))
    report = copy_files([str(source)], str(destination), options=settings)
    assert report.is_complete, report.format_line()
    return report


def write(path: Path, text: str, *, at_s: float | None = None) -> Path:
    """Write a file, with a time of modification."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if at_s is not None:
        os.utime(path, (at_s, at_s))
    return path


def read(folder: Path) -> dict[str, str]:
    return {each.relative_to(folder).as_posix(): each.read_text() for each in folder.rglob("*") if each.is_file()}
