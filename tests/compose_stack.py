"""Run the service as docker-compose.yml does, in a copy of the checkout, under a name and on ports of its own.

``tests/compose/__main__.py`` starts it for a run of tests, which find it by the variable ``TRADEWIND_STACK``.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

from benchmarks.support.report import ROOT
from tests.ports import free_port

VARIABLE = "TRADEWIND_STACK"
SERVER_SERVICES = ("api", "worker", "journal", "beat")


@dataclass(frozen=True)
class ComposeStack:
    """A project of Compose; every command runs in ``folder``, the copied checkout."""

    folder: str
    project: str
    https_port: int
    http_port: int
    front_network: str

    @classmethod
    def named(cls, folder: Path) -> "ComposeStack":
        """Return a stack in a new copy of this checkout, without its secrets and data; nothing runs yet."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        third, fourth = os.getpid() % 200, 32 * (os.getpid() // 200 % 8)
        project = f"tradewind-test-{os.getpid()}"
        return cls(str(folder), project, free_port(), free_port(), f"172.30.{third}.{fourth}/27")

    @classmethod
    def running(cls) -> "ComposeStack | None":
        """Return the stack that this run of tests is about; None where it is about none."""
        stored = os.environ.get(VARIABLE)
        return cls(**json.loads(stored)) if stored else None

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self.https_port}"

    @property
    def authority(self) -> Path:
        """The certificate of Caddy's own authority."""
        return Path(self.folder) / "authority.pem"

    def as_variable(self) -> str:
        return json.dumps(asdict(self))

    def environment(self) -> Mapping[str, str]:
        """Return the settings of this stack, on top of the caller's environment."""
        return {
            "COMPOSE_PROJECT_NAME": self.project,
            "TRADEWIND_DOMAIN": "127.0.0.1",
            "TRADEWIND_HOST": "127.0.0.1",
            "TRADEWIND_HTTP_PORT": str(self.http_port),
            "TRADEWIND_HTTPS_PORT": str(self.https_port),
            "TRADEWIND_FRONT_NETWORK": self.front_network,
            "TRADEWIND_BUILD_NETWORK": "host",  # reaches an index wherever the caller does
            "TRADEWIND_REFRESH_INTERVAL_S": "0",
        }

    def run(self, *command: str, check: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a program in the copied checkout, with the settings of the stack and ``more``."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=os.environ | self.environment() | more,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=check,
        )

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a program as ``run`` does, in a session of its own, as of a terminal that may send it signals."""
        return subprocess.Popen(
            ["env", "--default-signal", *command],  # the caller may have ignored some signals
            cwd=self.folder,
            env=os.environ | self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def compose(self, *words: str, check: bool = True, **more: str) -> str:
        """Return what ``docker compose`` prints."""
        return self.run("docker", "compose", *words, check=check, **more).stdout

    def containers(self, service: str) -> Sequence[str]:
        """Return the ids of a service's running containers."""
        return self.compose("ps", "--quiet", "--status", "running", service).split()

    def inspect(self, container: str, template: str) -> str:
        return self.run("docker", "inspect", "--format", template, container).stdout.strip()

    def health(self, container: str) -> str:
        return self.inspect(container, "{{if .State.Health}}{{.State.Health.Status}}{{end}}")

    def inside_address(self, service: str) -> str:
        """Return the address by which this host reaches a service that is closed to others."""
        (container,) = self.containers(service)
        return self.inspect(container, f'{{{{(index .NetworkSettings.Networks "{self.project}_inside").IPAddress}}}}')

    def new_key(self, *, tenant: str | None = None) -> str:
        """Return a key of every scope of a new tenant."""
        whose = ("--tenant", tenant or f"tenant {uuid4()}", "--name", "this machine")
        return self.compose("exec", "-T", "api", "python", "-m", "services.prepare", "key", *whose).strip()

    def url_from_here(self, secret: str, service: str) -> str:
        """Return a URL of ``secrets/``, with the address that a service has for this host."""
        url = (Path(self.folder) / "secrets" / secret).read_text().strip()
        return re.sub(rf"@{service}:", f"@{self.inside_address(service)}:", url)
