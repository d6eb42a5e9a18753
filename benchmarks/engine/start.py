"""How soon `copy` asks its server for something, and how much memory a long listing takes."""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.engine.running import run_program
from benchmarks.engine.servers import HOST, run_nginx
from benchmarks.engine.tools import TRADEWIND_COMMAND
from benchmarks.support.report import Value

_PATIENCE_S = 60.0
_RECEIVED_BYTES = 4096


def measure_first_request(work: Path, environment: Mapping[str, str], rounds: int) -> dict[str, Value]:
    """Return medians of the time from exec to the first request, and of an interpreter that does nothing, s."""
    first_s, nothing_s = [], []
    for _ in range(rounds + 1):  # the first one warms up
        first_s.append(_time_first_request(work, environment))
        nothing = [sys.executable, "-c", "pass"]
        nothing_s.append(run_program(nothing, environment, work / "nothing.log").wall_s)
    first, python = statistics.median(first_s[1:]), statistics.median(nothing_s[1:])
    return {
        "case": "first request",
        "first_request_s": first,
        "python_s": python,
        "first_request_vs_python": first / python,
    }


def _time_first_request(work: Path, environment: Mapping[str, str]) -> float:
    with socket.create_server((HOST, 0)) as server, tempfile.TemporaryDirectory(dir=work) as destination:
        server.settimeout(_PATIENCE_S)
        url = f"http://{HOST}:{server.getsockname()[1]}/file"
        started_s = time.perf_counter()
        command = [*TRADEWIND_COMMAND, url, f"{destination}/"]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(environment)
        ) as program:
            try:
                connection, _ = server.accept()
                with connection:
                    connection.settimeout(_PATIENCE_S)
                    connection.recv(_RECEIVED_BYTES)
                    return time.perf_counter() - started_s
            finally:
                program.kill()


def measure_listing(work: Path, environment: Mapping[str, str], files: int) -> dict[str, Value]:
    """Return the most memory that a dry run held while it listed a folder of ``files`` files, MiB."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        root = Path(folder)
        root.chmod(0o755)
        for number in range(files):
            os.close(os.open(root / f"file-{number:06}.bin", os.O_CREAT | os.O_WRONLY, 0o644))
        with run_nginx(root, work) as url:
            cost = run_program(
                [*TRADEWIND_COMMAND, url, f"{work}/listed/", "--dry-run", "--json"], environment, work / "listing.log"
            )
    return {
        "case": "listing",
        "files": files,
        "cpu_s": cost.cpu_s,
        "wall_s": cost.wall_s,
        "peak_rss_mb": cost.peak_rss_mb,
    }
