"""The copy that the demo's last act is compared with."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import psutil
import pytest

from benchmarks.demo.untuned_copy import run_untuned_copy
from tests.conditions import eventually
from tradewind.errors import TradewindError

NOBODY = ("http://127.0.0.1:1", "tw_nobody")


def test_a_copy_that_failed_is_nothing_to_compare_with(tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (served / "gone").symlink_to(tmp_path / "nowhere")
    handler = partial(SimpleHTTPRequestHandler, directory=served)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        with pytest.raises(TradewindError, match="the copy that is not tuned failed"):
            copy_to_its_end(url, tmp_path)
        server.shutdown()


def copy_to_its_end(url: str, folder: Path) -> None:
    with run_untuned_copy(url, folder / "got", service=NOBODY, logs=folder):
        [copy] = filter(is_copy, psutil.Process().children())
        eventually(lambda: copy.status() == psutil.STATUS_ZOMBIE)


def is_copy(child: psutil.Process) -> bool:
    try:
        return "benchmarks.demo.untuned_copy" in child.cmdline()
    except psutil.ZombieProcess:  # left by another test
        return False
