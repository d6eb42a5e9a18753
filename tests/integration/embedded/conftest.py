"""Folders for servers, and other processes that use them."""

import os
import pwd
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tests.conditions import eventually
from tests.endings import Program, is_gone
from tests.open_folders import open_folder

USER_PROGRAM = Path(__file__).with_name("user.py")
OTHER_USER = "nobody"


@pytest.fixture
def server_folder() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder / "server"


@pytest.fixture
def use_elsewhere() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a process that uses a server; `prefix` is a program that starts it in its turn."""
    with ExitStack() as stack:

        def use(kind: str, folder: Path, *, prefix: tuple[str, ...] = (), **environment: str) -> subprocess.Popen[str]:
            process = Program(
                [*prefix, sys.executable, "-P", str(USER_PROGRAM), kind, str(folder)],
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield use


@pytest.fixture
def as_other_user() -> tuple[str, ...]:
    """A prefix that makes root's command an ordinary user's; an ordinary user's own commands need none.

    The capability lets it read an interpreter in root's home: what counts here is that it is not root.
    """
    if os.geteuid():
        return ()
    entry = pwd.getpwnam(OTHER_USER)
    identity = (f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups")
    return ("setpriv", *identity, "--inh-caps=+dac_override", "--ambient-caps=+dac_override")


@pytest.fixture
def processes_below() -> Callable[[], list[psutil.Process]]:
    """Everything that this process has started and that still runs."""
    return lambda: [child for child in psutil.Process().children(recursive=True) if child.status() != "zombie"]


@pytest.fixture
def assert_all_end() -> Callable[[list[psutil.Process]], None]:
    """Wait until processes are gone."""

    def check(processes: list[psutil.Process]) -> None:
        eventually(lambda: all(map(is_gone, processes)))

    return check
