"""A real object store: versitygw, which stores each object as a file of a folder."""

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]

from benchmarks.support.processes import end_program
from benchmarks.support.report import ROOT
from tradewind.errors import TradewindError

ACCESS_KEY, SECRET_KEY, REGION = "tradewind", "only-for-this-benchmark", "us-east-1"
BUCKET = "data"
HOST, PORT = "127.0.0.1", 7070
TOOLS = ROOT / "var" / "test-tools" / "s3"
"""Where `infra/install-test-tools s3` puts the gateway and the tools."""

PATIENCE_S, _POLL_S, _GRACE_S = 30.0, 0.05, 5.0

Start = Callable[[Sequence[str], Path], "subprocess.Popen[bytes]"]
"""Starts a program with its output in a file."""


class NoGateway(TradewindError):
    """The gateway is missing or did not start; the message says what to do."""


@dataclass(frozen=True, slots=True)
class RunningStore:
    """A running store.

    ``url`` : of the store. ``root`` : the folder that has a folder a bucket.
    """

    url: str
    root: Path

    @property
    def bucket_folder(self) -> Path:
        return self.root / BUCKET

    def make_client(self) -> Any:
        """Return a client for what benchmarks prepare and check."""
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
        )

    def count_unfinished_uploads(self) -> int:
        """Return the number of uploads in parts that nobody has joined or aborted."""
        pages = self.make_client().get_paginator("list_multipart_uploads").paginate(Bucket=BUCKET)
        return sum(len(page.get("Uploads", ())) for page in pages)


def find_gateway() -> Path:
    """Return the program.

    Raises
    ------
    NoGateway : it is not installed.
    """
    program = TOOLS / "bin" / "versitygw"
    if not program.exists():
        raise NoGateway("the gateway and its peers are not installed; run infra/install-test-tools s3")
    return program


@contextmanager
def run_gateway(root: Path, work: Path, *, port: int | None = None) -> Iterator[RunningStore]:
    """Serve ``root`` on the loopback; its log is in ``work``."""
    port = port or find_free_port()
    with run_gateway_at(root, f"{HOST}:{port}", work / "gateway.log", _start, lambda: _is_listening(port)):
        yield RunningStore(f"http://{HOST}:{port}", root)


@contextmanager
def run_gateway_at(
    root: Path, address: str, log: Path, start: Start, is_listening: Callable[[], bool]
) -> Iterator["subprocess.Popen[bytes]"]:
    """Serve ``root`` at an address until the end of the block, by a program that ``start`` starts."""
    root.mkdir(exist_ok=True)
    program = str(find_gateway())
    command = [program, "--access", ACCESS_KEY, "--secret", SECRET_KEY, "--region", REGION]
    running = start([*command, "--port", address, "--quiet", "posix", str(root)], log)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not is_listening():
            if running.poll() is not None or time.monotonic() > deadline:
                printed = log.read_text(errors="replace").strip().splitlines() or ["it printed nothing"]
                raise NoGateway(f"the gateway did not start: {printed[-1]}")
            time.sleep(_POLL_S)
        yield running
    finally:
        end_program(running, _GRACE_S)


def fill_bucket(store: RunningStore, prefix: str, folder: Path) -> None:
    """Make the bucket if there is none, and send the files of a folder to it."""
    client = store.make_client()
    if not store.bucket_folder.exists():
        client.create_bucket(Bucket=BUCKET)
    for path in sorted(folder.iterdir()):
        client.upload_file(str(path), BUCKET, f"{prefix}{path.name}")


def remove_objects(store: RunningStore, prefix: str) -> None:
    """Remove what was sent below a prefix, with the unfinished parts of others."""
    shutil.rmtree(store.bucket_folder / prefix, ignore_errors=True)


def find_free_port() -> int:
    with socket.create_server((HOST, 0)) as taken:
        return int(taken.getsockname()[1])


def _start(command: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
    with log.open("wb") as output:
        return subprocess.Popen(command, stdout=output, stderr=output)


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
