"""Uploads while the store is killed and started again, and while the copy is: what is left, and whether it is right."""

import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.engine.workload import FileSet, WrongFiles, write_files
from benchmarks.s3.gateway import BUCKET, RunningStore, find_free_port, run_gateway
from benchmarks.s3.tools import STORE_TOOLS, Places, make_environment
from benchmarks.support.report import Value

_PREFIX = "broken/"
_OUTAGE_S, _PATIENCE_S, _POLL_S = 2.0, 300.0, 0.02
_OURS = STORE_TOOLS[0]


def measure_faults(work: Path, large_bytes: int, seed: int) -> tuple[list[dict[str, Value]], dict[str, Value]]:
    """Return a row for each fault, and the sums: uploads that are left open, and objects that are wrong."""
    files = write_files(work / "to-send", 2, large_bytes, seed)
    rows = [_break_store(work, files), _break_copy(work, files)]
    left = sum(int(str(row["uploads_left_open"])) for row in rows)
    return rows, {"uploads_left_open": left, "wrong_objects": sum(int(str(row["wrong_objects"])) for row in rows)}


def _break_store(work: Path, files: FileSet) -> dict[str, Value]:
    """Kill the store in the middle of an upload, and start it again after a while: the copy itself has to finish."""
    port, root = find_free_port(), work / "broken-store"
    with ExitStack() as running:
        store = running.enter_context(run_gateway(root, work, port=port))
        store.make_client().create_bucket(Bucket=BUCKET)
        copy = _start_copy(work, store, files)
        _wait_for_bytes(store, copy, files)
        running.close()
        time.sleep(_OUTAGE_S)
        store = running.enter_context(run_gateway(root, work, port=port))
        code = copy.wait(_PATIENCE_S)
        return _make_row("the store is killed and comes back", store, files, code)


def _break_copy(work: Path, files: FileSet) -> dict[str, Value]:
    """Kill the copy in the middle of an upload: the next one has to finish it with the parts that the store has."""
    with run_gateway(work / "killed-store", work) as store:
        store.make_client().create_bucket(Bucket=BUCKET)
        copy = _start_copy(work, store, files)
        _wait_for_bytes(store, copy, files)
        copy.send_signal(signal.SIGKILL)
        copy.wait()
        code = _start_copy(work, store, files).wait(_PATIENCE_S)
        return _make_row("the copy is killed and repeated", store, files, code)


def _start_copy(work: Path, store: RunningStore, files: FileSet) -> "subprocess.Popen[bytes]":
    home = work / "home"
    home.mkdir(exist_ok=True)
    command = _OURS.upload(Places(store.url, _PREFIX, files.folder))
    with (work / "copy.log").open("ab") as output:
        return subprocess.Popen(
            [*command, "--concurrency", "2", "--parallelism", "2"],
            stdout=output,
            stderr=output,
            env=dict(make_environment(home, store.url)),
        )


def _wait_for_bytes(store: RunningStore, copy: "subprocess.Popen[bytes]", files: FileSet) -> None:
    """Wait until the store has an eighth of the bytes, or the copy has ended."""
    due_bytes = sum(files.sizes_bytes.values()) // 8
    deadline = time.monotonic() + _PATIENCE_S
    while copy.poll() is None and time.monotonic() < deadline:
        found = [path.stat().st_size for path in store.bucket_folder.rglob("*") if path.is_file()]
        if sum(found) >= due_bytes:
            return
        time.sleep(_POLL_S)


def _make_row(case: str, store: RunningStore, files: FileSet, exit_code: int) -> dict[str, Value]:
    try:
        files.check(store.bucket_folder / _PREFIX)
        wrong = 0
    except WrongFiles:
        wrong = 1
    return {
        "case": case,
        "exit_code": exit_code,
        "uploads_left_open": store.count_unfinished_uploads(),
        "wrong_objects": wrong,
    }
