"""``./run test --stack compose``: the stack of docker-compose.yml is built and started, tested, and taken down.

Arguments go to pytest; tests that only a stack has are in this folder, the others are those that know how to use one.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.support.report import ROOT
from tests.compose_stack import VARIABLE, ComposeStack

UP_PATIENCE_S = 600
STACK_IMAGE = "tradewind-server"


class NotPossible(Exception):
    """The stack cannot be had; the message is for the user."""


def main(arguments: Sequence[str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        engine = engine_version()
        with tempfile.TemporaryDirectory(prefix="tradewind-stack-") as folder:
            stack = ComposeStack.named(Path(folder))
            with started(stack):
                status = tested(stack, arguments)
                told = ", ".join(sorted(set(stack.compose("ps", "--all", "--format", "{{.Image}}").split())))
                say(f"tested {stack.address} on Docker {engine}: {told}")
            return status
    except NotPossible as reason:
        say(str(reason))
        return 1
    except subprocess.CalledProcessError as failed:
        say(f"{' '.join(map(str, failed.cmd[:4]))} failed: {failed.stderr or failed.stdout}")
        return 1
    except KeyboardInterrupt:
        say("stopped")
        return 130


def engine_version() -> str:
    """The version of the Docker engine that answers.

    Raises
    ------
    NotPossible : Docker, its engine or its Compose plugin is missing.
    """
    if shutil.which("docker") is None:
        raise NotPossible("--stack compose needs Docker, and there is no program docker; ./run test does without")
    for command, missing in (
        (("docker", "compose", "version"), "the Compose plugin of Docker"),
        (("docker", "version", "--format", "{{.Server.Version}}"), "a Docker engine that answers"),
    ):
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise NotPossible(f"--stack compose needs {missing}; ./run test does without")
    return ran.stdout.strip()


@contextmanager
def started(stack: ComposeStack) -> Iterator[None]:
    """Build and start the stack; at the end nothing of it is left."""
    try:
        stack.run("infra/compose-secrets")
        timed("built", lambda: stack.compose("build", "--quiet"))
        timed("started", lambda: up(stack))
        authority = stack.compose("exec", "-T", "caddy", "cat", "/data/caddy/pki/authorities/local/root.crt")
        stack.authority.write_text(authority)
        yield
    finally:
        with suppress(KeyboardInterrupt):
            say("taking the stack down")
            images = set(stack.compose("config", "--images", check=False).split())
            stack.compose("down", "--volumes", "--remove-orphans", "--timeout", "5", check=False)
            ours = [image for image in images if image.startswith(f"{STACK_IMAGE}:") and image.endswith("-next")]
            if ours:
                stack.run("docker", "image", "rm", *ours, check=False)


def up(stack: ComposeStack) -> None:
    """Start everything, or say what the containers that did not get well have said."""
    try:
        stack.compose("up", "--detach", "--wait", "--wait-timeout", str(UP_PATIENCE_S))
    except subprocess.CalledProcessError as failed:
        said = stack.compose("logs", "--tail", "3", "migrate", "api", "worker", "caddy", check=False)
        raise NotPossible(f"the stack did not start:\n{failed.stderr[-600:]}\n{said}") from None


def tested(stack: ComposeStack, arguments: Sequence[str]) -> int:
    """Run the tests that can be driven against the stack; pytest's exit code."""
    chosen = list(arguments)
    if not any((ROOT / each.partition("::")[0]).exists() for each in arguments if not each.startswith("-")):
        chosen += [*over_a_url(), "tests/e2e", "tests/compose"]
    environment = os.environ | {VARIABLE: stack.as_variable(), "SSL_CERT_FILE": str(stack.authority)}
    command = [sys.executable, "-P", "-m", "pytest", "-p", "no:xdist", "--verbose", *chosen]
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    while True:  # Ctrl-C is for pytest too, which ends its tests; the stack is there until it has
        with suppress(KeyboardInterrupt):
            return process.wait()


def over_a_url() -> Sequence[str]:
    """Files of tests that ask nothing of the service but what a URL, a key and its databases give."""
    listed = (ROOT / "tests" / "compose" / "over_a_url.txt").read_text(encoding="utf-8")
    return [line for line in listed.splitlines() if line and not line.startswith("#")]


def timed(what: str, work) -> None:
    began_at = time.monotonic()
    work()
    say(f"{what} in {time.monotonic() - began_at:.0f} s")


def say(text: str) -> None:
    print(f"stack: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
