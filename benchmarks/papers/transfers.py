"""Make single transfers of our engine on the testbed, with constant settings."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from benchmarks.papers.paths import Run, draw_sizes, find_window_bytes, make_path
from benchmarks.papers.trial import TrialSite
from benchmarks.testbed import origins
from benchmarks.testbed.data_sets import write_files
from benchmarks.testbed.measured_run import MeasuredRun, run_measured
from benchmarks.testbed.peers import clean_environment
from benchmarks.testbed.soundness import find_disturbance
from benchmarks.testbed.testbed import Testbed
from benchmarks.wan.runs import Row

Maker = Callable[[Run], Row]
SetUp = Callable[[str, str, TrialSite, float], AbstractContextManager[Maker]]
"""Sets up a path with its files, by their names, and yields what makes runs; each run is cut after so many seconds."""


_RECEIVE_BUFFERS = "net.ipv4.tcp_rmem"
_BUFFER_SHARE = 2
"""Bytes of a receive buffer for each byte of the window: the kernel keeps half for its own (tcp_adv_win_scale)."""


@contextmanager
def set_up_on_testbed(path: str, files: str, yard: TrialSite, cut_s: float) -> Iterator[Maker]:
    sizes = draw_sizes(files, yard.claims, yard.seed)
    with tempfile.TemporaryDirectory(dir=yard.folder, prefix="papers-") as work:
        Path(work).chmod(0o755)  # nginx may run as another account
        served = Path(work) / "served"
        write_files(served, sizes, yard.seed)
        with Testbed(make_path(path, yard.claims), seed=yard.seed) as bed, origins.run_nginx(bed, served) as url:
            usual = bed.run(bed.clients[0], ["sysctl", "-n", _RECEIVE_BUFFERS]).strip()

            def make(run: Run) -> Row:
                window = find_window_bytes(run, yard.claims)
                buffers = usual if window is None else f"4096 {_BUFFER_SHARE * window} {_BUFFER_SHARE * window}"
                bed.run(bed.clients[0], ["sysctl", "-q", "-w", f"{_RECEIVE_BUFFERS}={buffers}"])
                with tempfile.TemporaryDirectory(dir=work, prefix="run-") as name:
                    ran = _run_copy(run, bed, url, Path(name), cut_s)
                return _make_row(ran, bed, total_bytes=sum(sizes), prioritised=yard.prioritised)

            yield make


def _run_copy(run: Run, bed: Testbed, url: str, folder: Path, cut_s: float) -> MeasuredRun:
    got, scratch, log = folder / "got", folder / "scratch", folder / "log"
    got.mkdir()
    scratch.mkdir()
    surroundings = clean_environment(scratch)
    command = _build_copy_command(run, url, got)
    ran = run_measured(bed, bed.clients[0], command, got, cut_s=cut_s, environment=surroundings, log=log)
    ran.require_moved(run.name, log)
    return ran


def _make_row(ran: MeasuredRun, bed: Testbed, *, total_bytes: int, prioritised: bool) -> Row:
    return {
        "duration_s": ran.duration_s,
        "bytes_done": ran.bytes_done,
        "total_bytes": total_bytes,
        "cpu_s": ran.cpu_s,
        "energy_j": ran.compute_modelled_energy_j(),
        "cut": ran.cut,
        "disturbed": find_disturbance(
            ran.path, ran.share, rtt_s=bed.path.rtt_s, prioritised=prioritised and bed.link.is_real_time
        ),
    }


def _build_copy_command(run: Run, url: str, destination: Path) -> list[str]:
    """Return the command of a copy that is not tuned while it runs."""
    setting = run.setting
    command = [sys.executable, "-P", "-m", "tradewind_agent", "copy", url, str(destination), "--json", "--no-tune"]
    command += ["--base-power", "0s", "--source", "server", "--destination", "client"]
    for option in ("concurrency", "parallelism", "pipelining"):
        command += [f"--{option}", str(getattr(setting, option))]
    return command if setting.io_block_bytes is None else [*command, "--io-block", str(setting.io_block_bytes)]
