"""Single transfers of our engine on the testbed, at settings that stay."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from benchmarks.papers.grounds import Run, path_of, sizes_of
from benchmarks.papers.trial import Yard
from benchmarks.testbed import origins
from benchmarks.testbed.data_sets import write_files
from benchmarks.testbed.measured_run import MeasuredRun, run_measured
from benchmarks.testbed.peers import clean_environment
from benchmarks.testbed.soundness import find_disturbance
from benchmarks.testbed.testbed import Testbed
from benchmarks.wan.runs import Row

Maker = Callable[[Run], Row]
Ground = Callable[[str, str, Yard, float], AbstractContextManager[Maker]]
"""What makes runs over a path and of its files, by their names; each is cut after so many seconds."""


@contextmanager
def on_testbed(path: str, files: str, yard: Yard, cut_s: float) -> Iterator[Maker]:
    sizes = sizes_of(files, yard.facts, yard.seed)
    with tempfile.TemporaryDirectory(dir=yard.folder, prefix="papers-") as work:
        Path(work).chmod(0o755)  # nginx may run as another account
        served = Path(work) / "served"
        write_files(served, sizes, yard.seed)
        with Testbed(path_of(path, yard.facts), seed=yard.seed) as bed, origins.run_nginx(bed, served) as url:

            def made(run: Run) -> Row:
                with tempfile.TemporaryDirectory(dir=work, prefix="run-") as name:
                    ran = _ran(run, bed, url, Path(name), cut_s)
                return _row(ran, bed, total_bytes=sum(sizes), prioritised=yard.prioritised)

            yield made


def _ran(run: Run, bed: Testbed, url: str, folder: Path, cut_s: float) -> MeasuredRun:
    got, scratch, log = folder / "got", folder / "scratch", folder / "log"
    got.mkdir()
    scratch.mkdir()
    surroundings = clean_environment(scratch)
    command = _command(run, url, got)
    ran = run_measured(bed, bed.clients[0], command, got, cut_s=cut_s, environment=surroundings, log=log)
    ran.require_moved(run.name, log)
    return ran


def _row(ran: MeasuredRun, bed: Testbed, *, total_bytes: int, prioritised: bool) -> Row:
    return {
        "duration_s": ran.duration_s,
        "bytes_done": ran.bytes_done,
        "total_bytes": total_bytes,
        "cpu_s": ran.cpu_s,
        "energy_j": ran.modelled_energy_j(),
        "cut": ran.cut,
        "disturbed": find_disturbance(
            ran.path, ran.share, rtt_s=bed.path.rtt_s, prioritised=prioritised and bed.link.is_real_time
        ),
    }


def _command(run: Run, url: str, destination: Path) -> list[str]:
    """Nothing is tuned while it runs."""
    setting = run.setting
    command = [sys.executable, "-P", "-m", "tradewind_agent", "copy", url, str(destination), "--json", "--no-tune"]
    command += ["--base-power", "0s", "--source", "server", "--destination", "client"]
    for option in ("concurrency", "parallelism", "pipelining"):
        command += [f"--{option}", str(getattr(setting, option))]
    return command if setting.io_block_bytes is None else [*command, "--io-block", str(setting.io_block_bytes)]
