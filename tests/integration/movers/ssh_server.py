"""A real sshd on the loopback, with keys, a configuration and a port of its own, for this user alone."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conditions import eventually
from tests.endings import Program
from tests.integration.engine.servers.web_servers import program

_SEPARATION = Path("/run/sshd")
"""sshd that runs as root insists on this empty folder, which its service makes when it starts."""


@dataclass(frozen=True)
class SshServer:
    """``config`` : for clients (``-F``); ``log`` : what the server tells."""

    port: int
    config: Path
    log: Path

    def place(self, path: Path | str = "") -> str:
        return f"127.0.0.1:{path}"


@contextmanager
def ssh_server(work: Path) -> Iterator[SshServer]:
    """Serves files of this user's to who has the key that is made here."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", work / name], check=True)
    served = SshServer(port, work / "client", work / "log")
    (work / "server").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {work}/host\nAuthorizedKeysFile {work}/user.pub\n"
        "StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "PermitRootLogin yes\nSubsystem sftp internal-sftp\n"
    )
    served.config.write_text(
        f"IdentityFile {work}/user\nIdentitiesOnly yes\nPort {port}\nBatchMode yes\nLogLevel ERROR\n"
        "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
    )
    if os.geteuid() == 0:
        _SEPARATION.mkdir(mode=0o755, exist_ok=True)  # it stays: another server may need it
    command = [program("sshd"), "-D", "-e", "-f", work / "server"]
    with served.log.open("wb") as log, Program(command, stdout=log, stderr=log) as process:
        try:
            eventually(lambda: _listens(port) or process.poll() is not None)
            assert process.poll() is None, served.log.read_text()
            yield served
        finally:
            process.terminate()
            process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
