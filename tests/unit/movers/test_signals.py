"""Signals on their way to a wrapped tool: those that are ignored, and those that the terminal sends itself."""

import asyncio
import os
import pty
import signal
import subprocess
import sys

import pytest

from tradewind_agent.movers.wrap.run_tool import FORWARDED, _forward_signals


@pytest.fixture
def ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield signal.SIGHUP
    signal.signal(signal.SIGHUP, before)


def test_a_signal_that_is_ignored_stays_so(ignored):
    async def handlers():
        with _forward_signals(asyncio.get_running_loop()):
            return [signal.getsignal(number) for number in FORWARDED]

    during = dict(zip(FORWARDED, asyncio.run(handlers()), strict=True))
    assert during.pop(ignored) is signal.SIG_IGN
    assert signal.SIG_IGN not in during.values()
    assert signal.getsignal(ignored) is signal.SIG_IGN


IN_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(2, termios.TIOCSCTTY, 0)
{stdin}
from tradewind_agent.movers.wrap.run_tool import _is_in_foreground
print(_is_in_foreground())
"""


@pytest.mark.parametrize("stdin", ["", "sys.stdin = None"])
def test_a_terminal_is_seen_whatever_standard_input_is(stdin):
    controller, terminal = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", IN_TERMINAL.format(stdin=stdin)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=terminal,
            check=False,
        )
    finally:
        os.close(terminal)
        os.close(controller)
    assert done.stdout == b"True\n"
