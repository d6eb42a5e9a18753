"""Ctrl-C ends the demo and everything that it started."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from tests.conditions import eventually, stretched
from tests.endings import Program
from tests.open_folders import open_folder

ROOT = Path(__file__).resolve().parents[3]
DEMO = """
import sys
from pathlib import Path
import benchmarks.demo.__main__ as demo
demo.FOLDER = Path(sys.argv[1])
sys.exit(demo.main())
"""
"""``./run demo`` with another folder, so that the one of this checkout is left alone."""

PATIENCE_S = 120.0


def marked(mark: str) -> list[psutil.Process]:
    """Every process that has ``mark`` in its environment, wherever it went from there."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get("TRADEWIND_TEST_MARK") == mark:
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as opened:
        yield opened


@pytest.mark.parametrize("stage", ["path:", "history:"], ids=["while it starts", "while it moves files"])
def test_ctrl_c_ends_the_demo_with_130_and_leaves_no_process(folder, stage):
    mark = str(uuid4())
    environment = os.environ | {"TRADEWIND_TEST_MARK": mark, "PYTHONUNBUFFERED": "1"}
    with Program(
        [sys.executable, "-c", DEMO, str(folder / "demo")],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a terminal sends Ctrl-C to all of a group: here to the demo's alone
    ) as demo:
        assert any(line.startswith(stage) for line in demo.stdout), demo.stderr.read()
        if stage == "history:":
            eventually(lambda: list((folder / "demo" / "received").glob("*/*")), patience_s=stretched(PATIENCE_S))
        os.killpg(demo.pid, signal.SIGINT)
        _, errors = demo.communicate(timeout=stretched(PATIENCE_S))
    assert demo.returncode == 130, errors
    assert errors.strip() == "demo: interrupted"
    eventually(lambda: not marked(mark))
