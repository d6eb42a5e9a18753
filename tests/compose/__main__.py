"""Run ``./run test --stack compose``: build and start the stack of docker-compose.yml, test it, and take it down.

Arguments go to pytest. Tests that only a stack has are in this folder; the others are those that can use one.
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
    """The stack cannot run here; the message is for the user."""


def main(arguments: Sequence[str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        engine = read_engine_version()
        with tempfile.TemporaryDirectory(prefix="tradewind-stack-") as folder:
            stack = ComposeStack.named(Path(folder))
            with run_stack(stack):
                status = run_tests(stack, arguments)
                images_in_use = ", ".join(sorted(set(stack.compose("ps", "--all", "--format", "{{.Image}}").split())))
                print_line(f"tested {stack.address} on Docker {engine}: {images_in_use}")
            return status
    except NotPossible as reason:
        print_line(str(reason))
        return 1
    except subprocess.CalledProcessError as failed:
        print_line(f"{' '.join(map(str, failed.cmd[:4]))} failed: {failed.stderr or failed.stdout}")
        return 1
    except KeyboardInterrupt:
        print_line("stopped")
        return 130


def read_engine_version() -> str:
    """Return the version of the Docker engine that answers.

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
def run_stack(stack: ComposeStack) -> Iterator[None]:
    """Build and start the stack; remove all of it at the end."""
    try:
        stack.run("infra/compose-secrets")
        report_time("built", lambda: stack.compose("build", "--quiet"))
        report_time("started", lambda: start_stack(stack))
        authority = stack.compose("exec", "-T", "caddy", "cat", "/data/caddy/pki/authorities/local/root.crt")
        stack.authority.write_text(authority)
        yield
    finally:
        with suppress(KeyboardInterrupt):
            print_line("taking the stack down")
            images = set(stack.compose("config", "--images", check=False).split())
            stack.compose("down", "--volumes", "--remove-orphans", "--timeout", "5", check=False)
            ours = [image for image in images if image.startswith(f"{STACK_IMAGE}:") and image.endswith("-next")]
            if ours:
                stack.run("docker", "image", "rm", *ours, check=False)


def start_stack(stack: ComposeStack) -> None:
    """Start everything, or report what the unhealthy containers printed."""
    try:
        stack.compose("up", "--detach", "--wait", "--wait-timeout", str(UP_PATIENCE_S))
    except subprocess.CalledProcessError as failed:
        output = stack.compose("logs", "--tail", "3", "migrate", "api", "worker", "caddy", check=False)
        raise NotPossible(f"the stack did not start:\n{failed.stderr[-600:]}\n{output}") from None


def run_tests(stack: ComposeStack, arguments: Sequence[str]) -> int:
    """Run the tests that can use the stack; return pytest's exit code."""
    chosen = list(arguments)
    if not any((ROOT / each.partition("::")[0]).exists() for each in arguments if not each.startswith("-")):
        chosen += [*list_tests_over_a_url(), "tests/e2e", "tests/compose"]
    environment = os.environ | {VARIABLE: stack.as_variable(), "SSL_CERT_FILE": str(stack.authority)}
    command = [sys.executable, "-P", "-m", "pytest", "-p", "no:xdist", "--verbose", *chosen]
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    while True:  # Ctrl-C is for pytest too, which ends its tests; the stack stays until it has
        with suppress(KeyboardInterrupt):
            return process.wait()


def list_tests_over_a_url() -> Sequence[str]:
    """Return files of tests that need only a URL, a key and the databases of a service."""
    listed = (ROOT / "tests" / "compose" / "over_a_url.txt").read_text(encoding="utf-8")
    return [line for line in listed.splitlines() if line and not line.startswith("#")]


def report_time(what: str, work) -> None:
    started_at = time.monotonic()
    work()
    print_line(f"{what} in {time.monotonic() - started_at:.0f} s")


def print_line(text: str) -> None:
    print(f"stack: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
