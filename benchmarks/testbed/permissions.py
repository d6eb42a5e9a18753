"""Whether this account may make namespaces and TUN devices, and what to do where it may not."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from benchmarks.testbed.errors import CannotEmulate

TUN = Path("/dev/net/tun")
PACKAGES = {"ip": "iproute2", "nsenter": "util-linux", "cc": "gcc libc6-dev"}
"""Programs that a testbed runs, and Debian's packages of them."""

INSIDE = "TRADEWIND_TESTBED_INSIDE"
"""Set in a user namespace of our own, so that it is entered only once."""

_WITH_OWN_RUN = 'mount -t tmpfs tmpfs /run && exec "$@"'
"""A user namespace has no right to the system's /run, where named network namespaces are kept: it gets its own."""


def require_permission() -> None:
    """Raise an error where a testbed cannot run.

    Raises
    ------
    CannotEmulate : in one line, what is needed.
    """
    if not sys.platform.startswith("linux"):
        raise CannotEmulate("the testbed needs Linux: network namespaces and TUN devices")
    missing = [package for program, package in PACKAGES.items() if shutil.which(program) is None]
    if missing:
        raise CannotEmulate(f"the testbed needs these packages (names of Debian): {' '.join(missing)}")
    if os.geteuid() != 0:
        raise CannotEmulate("the testbed needs root for its network namespaces; use sudo, or permit user namespaces")
    try:
        os.close(os.open(TUN, os.O_RDWR))
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise CannotEmulate(
            f"the testbed needs {TUN}: {reason}; in a container: --device {TUN} --cap-add NET_ADMIN --cap-add SYS_ADMIN"
        ) from None


def become_root_of_a_user_namespace(command: Sequence[str]) -> None:
    """Run ``command`` again as root of a user namespace where this account is not root but may have one.

    The function returns where that is not needed or not permitted; else this process becomes ``command``.
    """
    if os.geteuid() == 0 or INSIDE in os.environ or shutil.which("unshare") is None:
        return
    entered = ["unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c", _WITH_OWN_RUN, "sh"]
    if subprocess.run([*entered, "true"], capture_output=True, check=False).returncode == 0:
        _replace_process([*entered, *command])


def _replace_process(command: Sequence[str]) -> NoReturn:
    sys.stdout.flush()
    os.execvpe(command[0], list(command), {**os.environ, INSIDE: "1"})
