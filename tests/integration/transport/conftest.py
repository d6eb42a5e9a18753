"""FLD_TCP in the kernel of this machine, for one run of the tests at a time; as it was before, afterwards."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.testbed.errors import CannotEmulate
from benchmarks.testbed.permissions import require_permission
from benchmarks.transport.installed import USERS
from tradewind_agent.errors import TransportFailed
from tradewind_agent.transport import installation
from tradewind_agent.transport.installation import State
from tradewind_agent.transport.parameters import Parameters
from tradewind_agent.transport.requirements import require_kernel, require_tools

TESTS = Path("/run/tradewind-transport-tests.lock")


@pytest.fixture(scope="package")
def emulation() -> None:
    """Networks of our own may be made here."""
    try:
        require_permission()
    except CannotEmulate as reason:
        pytest.skip(str(reason))


def require_installable() -> None:
    """Skip where FLD_TCP cannot be put into this kernel."""
    try:
        require_kernel()
        require_tools()
    except TransportFailed as reason:
        pytest.skip(str(reason))
    if os.geteuid() != 0:
        pytest.skip("only root may install it")


@pytest.fixture(scope="package")
def kernel() -> Iterator[None]:
    """The kernel's one place of this name, to install in and remove from."""
    require_installable()
    with TESTS.open("a") as lock, USERS.open("a") as users:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pytest.skip("a benchmark of this machine uses it")
        before = installation.read_state()
        require_replaceable(before)
        installation.remove()
        yield
        installation.remove()
        if before.parameters is not None:
            installation.install(before.parameters)


def require_replaceable(before: State) -> None:
    """What is loaded now can be put back afterwards, or there is nothing."""
    if before.registered and not before.ours:
        pytest.skip("fld_tcp was registered by another program")
    if before.ours and before.parameters is None:
        pytest.skip("another version of fld_tcp is loaded, which could not be put back")


@pytest.fixture
def installed(kernel: None) -> Iterator[None]:
    installation.install(Parameters())
    yield
    installation.remove()
