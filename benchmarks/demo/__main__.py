"""Run the demo: ``./run demo``. It prints what it does, and writes ``var/demo/report.json``.

The origin stands behind an emulated path in user space (see ``benchmarks.emulation``); transfers, logs, fits and the
recommendation are real. Energy is the CPU model's at both ends, and is called modelled.
"""

import json
import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict

from benchmarks.demo import changing_path, stack, untuned_copy
from benchmarks.demo.comparison import DemoRun, compare, find_common_ends
from benchmarks.demo.course import Course
from benchmarks.demo.files import PAGES, PHOTOS, write_folder
from benchmarks.demo.history import draw_trials
from benchmarks.support.command import run_command
from benchmarks.support.report import ROOT, format_table
from tradewind.dataset import ChunkKind
from tradewind.errors import TradewindError
from tradewind.parameters import UNKNOWN_PARAMETERS, UNTUNED, Parameters
from tradewind.transfer import Status, TransferRecord
from tradewind.units import format_bps, format_bytes, format_count, parse_bps, parse_seconds
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.reporting.report import CopyReport, format_settings
from tradewind_agent.copy.run import PreparedCopy, copy_files
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.history.spool import Spool
from tradewind_agent.service.client import Client
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.session.metering import HostMeter

SEED = 7
PATH = stack.PathOptions(rate="80Mbps", rtt="60ms", loss="0.05%")
SOURCE = "origin"
PAGES_MOVED, PHOTOS_MOVED = 120, 10
COMMON_DEFAULT = Parameters(concurrency=4, parallelism=1, pipelining=1)
"""The default of a common tool: rclone's ``--transfers 4``."""

BUSY_LOAD = 2.0
"""Programs that want to run, for each processor: with more of them the figures are of the machine, not of the path."""

REPEATS = {"untuned": 1, "default": 2, "tuned": 3}
"""The fast ones are repeated, because they are short and the machine is noisy; medians are compared."""

TRIALS_A_LINE = 10
"""Transfers of the history between two lines of progress, for outputs that are no terminal too."""

RELEASE_PATIENCE_S = 60.0
FOLDER = ROOT / "var" / "demo"


def main() -> int:
    return run_command("demo", _run)


def _run() -> int:
    started = time.monotonic()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with ExitStack() as running:
        report = Demo(running).run()
    (FOLDER / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    print_line(f"\n{FOLDER / 'report.json'} written after {time.monotonic() - started:.0f} s")
    return 0


class Demo:
    """One run, on processes that end with ``running``."""

    def __init__(self, running: ExitStack) -> None:
        started = time.monotonic()
        self._draw = random.Random(SEED)
        self._received = 0
        self._write_files()
        print_line(f"path: an emulation in user space, {PATH}, seed {SEED}")
        logs = FOLDER
        address, key = running.enter_context(stack.run_service(FOLDER / "service", logs))
        origin = running.enter_context(stack.run_origin(FOLDER / "origin", logs))
        self._path = running.enter_context(stack.run_emulated_path(origin, PATH.build_arguments(SEED), logs))
        changing = changing_path.PATH.build_arguments(SEED, then=changing_path.THEN)
        self._changing_path, self._untuned_path = (
            running.enter_context(stack.run_emulated_path(origin, changing, logs, name=name))
            for name in ("changing-path", "untuned-path")
        )
        self._service = (address, key)
        self._client = running.enter_context(Client(address, key))
        self._meter = HostMeter.of_this_host()
        print_line(
            f"service: {address}, PostgreSQL, Valkey, API and workers started in {time.monotonic() - started:.0f} s"
        )

    def _write_files(self) -> None:
        moved = write_folder(FOLDER / "origin" / "moved", {PAGES: PAGES_MOVED, PHOTOS: PHOTOS_MOVED}, self._draw)
        self._trials = draw_trials(self._draw)
        for number, trial in enumerate(self._trials):
            write_folder(FOLDER / "origin" / f"trial-{number}", {trial.files: trial.count}, self._draw)
        print_line(f"files: {PAGES_MOVED} pages and {PHOTOS_MOVED} photos, {format_bytes(moved)}, seed {SEED}")

    def run(self) -> dict[str, object]:
        self._make_history()
        release = self._wait_for_release()
        runs = self._compare()
        links = self._client.inventory.links()
        report = compare(runs) | {
            "logs_uploaded": self._uploaded_count,
            "logs_recorded_beforehand": self._recorded_count,
            "links": len(links),
            "clusters": sum(link.clusters for link in links),
            "release": release,
            "recommendation_source": runs["tuned"][-1].report.plan.source,
            "path": {**asdict(PATH), "seed": SEED, "kind": "user-space emulation"},
        }
        self._print_report(report, runs)
        return report | {"tuning": self._tune_on_changing_path()}

    def _tune_on_changing_path(self) -> dict[str, object]:
        """Run the last act: the path changes half-way; one copy is tuned while it runs, the same copy is not."""
        description = changing_path.write_files(FOLDER / "origin" / "changing", SEED)
        print_line(f"\ntuning while it runs: {description} on a path of {changing_path.PATH}")
        print_line(f"  after {changing_path.CHANGES_AFTER_S:g} s it becomes one of {changing_path.THEN}")
        print_line(
            f"  a sample each {changing_path.TICK_S:g} s, 5 s by default; at the same time the same copy untuned"
        )
        untuned = untuned_copy.run_untuned_copy(
            _find_address(self._untuned_path, "changing"),
            FOLDER / "received" / "untuned",
            service=self._service,
            logs=FOLDER,
        )
        changer = changing_path.PathChanger([self._changing_path, self._untuned_path])
        with untuned as course:
            report = self._copy(
                _find_address(self._changing_path, "changing"),
                changing_path.build_copy_options(tune=True),
                ask=True,
                logbook=Logbook(spool=Spool(FOLDER / "spool", warn=print_line), client=self._client),
                on_snapshot=changer.follow,
            )
        outcome = changer.finish(report, untuned=Course.read(course))
        print_line(outcome.format_timeline())
        for line in outcome.format_report():
            print_line(line)
        return outcome.build_document()

    def _make_history(self) -> None:
        """Move the trials one after another and upload their logs."""
        print_line(f"history: {len(self._trials)} transfers at many settings")
        started = time.monotonic()
        records: list[TransferRecord] = []
        for number, trial in enumerate(self._trials):
            report = self._copy(_find_address(self._path, f"trial-{number}"), _build_copy_options(trial.parameters))
            records += report.records
            show_progress(f"  {number + 1}/{len(self._trials)} {trial.name}: {format_bps(report.throughput_bps)}")
            if (number + 1) % TRIALS_A_LINE == 0:
                print_line(f"  {number + 1} of {len(self._trials)} moved")
        recorded = changing_path.read_history()
        self._uploaded_count, self._recorded_count = (
            self._client.upload_logs([*records, *recorded]).accepted,
            len(recorded),
        )
        print_line(f"  {self._uploaded_count} records uploaded, {time.monotonic() - started:.0f} s")
        print_line(f"  {self._recorded_count} of them recorded beforehand, of another path: {changing_path.PATH}")

    def _wait_for_release(self) -> int:
        """Wait for the release that the workers make from the logs."""
        started = time.monotonic()
        while time.monotonic() - started < RELEASE_PATIENCE_S:
            current = [release for release in self._client.releases.page() if release.current]
            if current:
                release = current[0]
                passed = format_count(int(release.gate.get("passed", 0)), "path")
                clusters = format_count(release.clusters, "cluster")
                print_line(
                    f"release {release.id}: models of {passed} passed their checks; {clusters} of similar data sets"
                )
                return release.id
            time.sleep(0.2)
        raise TradewindError(f"no release after {RELEASE_PATIENCE_S:.0f} s; see {FOLDER / 'service.log'}")

    def _compare(self) -> dict[str, list[DemoRun]]:
        """Copy the same files untuned, at a common default and as recommended, alternating."""
        settings = {"untuned": UNTUNED, "default": COMMON_DEFAULT, "tuned": UNKNOWN_PARAMETERS}
        print_line("\nthe same files untuned (one at a time), by default (four at once) and tuned, alternating")
        runs: dict[str, list[DemoRun]] = {name: [] for name in settings}
        for turn in range(max(REPEATS.values())):
            for name, parameters in settings.items():
                if turn < REPEATS[name]:
                    report = self._copy(
                        _find_address(self._path, "moved"), _build_copy_options(parameters), ask=name == "tuned"
                    )
                    runs[name].append(DemoRun(report))
                    print_line(f"  {name}: {report.format_line()}")
        return runs

    def _copy(
        self,
        address: str,
        options: CopyOptions,
        *,
        ask: bool = False,
        logbook: Logbook | None = None,
        on_snapshot: Callable[[Snapshot, PreparedCopy], None] | None = None,
    ) -> CopyReport:
        self._received += 1
        report = copy_files(
            [address],
            str(FOLDER / "received" / str(self._received)),
            options=options,
            client=self._client if ask else None,
            logbook=logbook,
            on_snapshot=on_snapshot,
            meter=self._meter,
        )
        if report.status is Status.CANCELLED:
            raise KeyboardInterrupt  # the copy ended cleanly, and with it ends the demo
        if not report.succeeded:
            raise TradewindError(report.format_line())
        return report

    def _print_report(self, report: dict[str, object], runs: dict[str, list[DemoRun]]) -> None:
        tuned = runs["tuned"][-1].report.plan
        ends = find_common_ends(runs)
        print_line(f"\nrecommendation ({tuned.source}): {tuned.rationale}")
        for chunk in tuned.chunks:
            upto = "all others" if chunk.max_file_bytes is None else f"files up to {format_bytes(chunk.max_file_bytes)}"
            kind = "" if chunk.chunk is ChunkKind.WHOLE else f"{chunk.chunk}, "
            print_line(f"  {kind}{upto}: {format_settings(chunk.parameters)}")
        print_line("")
        print_line(
            format_table(
                [
                    {
                        "copy": name,
                        "runs": len(runs_of_kind),
                        "median Mbit/s": statistics.median(run.report.throughput_bps for run in runs_of_kind) / 1e6,
                        "seconds": statistics.median(run.report.duration_s for run in runs_of_kind),
                        "modelled J": statistics.median(run.compute_modelled_j(ends) for run in runs_of_kind),
                    }
                    for name, runs_of_kind in runs.items()
                ]
            )
        )
        print_line(
            f"\nspeedup {report['speedup']:.2f} over untuned, {report['speedup_vs_default']:.2f} over cc = 4; "
            f"modelled energy of {' and '.join(ends)} saved {report['energy_saving']:.0%} and "
            f"{report['energy_saving_vs_default']:.0%}; "
            "if the hosts' powers were half of those assumed, or half as much again, the tuned copy would "
            f"{'still' if report['less_modelled_energy_at_any_constants'] else 'not always'} take the least"
        )
        if (load := os.getloadavg()[0]) > BUSY_LOAD * (cpus := os.cpu_count() or 1):
            print_line(
                f"this machine was busy (load {load:.0f} on {cpus} processors), so that the copies waited for it and "
                "not for the path: run the demo again when it is idle"
            )


def _build_copy_options(parameters: Parameters) -> CopyOptions:
    """Return the options of a transfer that is learned from or compared: it is not tuned while it runs."""
    return CopyOptions(
        by_hand=parameters,
        source=SOURCE,
        destination="agent",
        bandwidth_bps=parse_bps(PATH.rate),
        rtt_s=parse_seconds(PATH.rtt),
        tune=False,
    )


def _find_address(path: stack.EmulatedPath, folder: str) -> str:
    """Return the address of a folder of the origin, by that path to it."""
    return f"http://127.0.0.1:{path.port}/{folder}/"


def print_line(line: str) -> None:
    sys.stdout.write(f"\r\033[K{line}\n" if sys.stdout.isatty() else f"{line}\n")
    sys.stdout.flush()


def show_progress(line: str) -> None:
    """Print a line that the next one replaces on a terminal; print nothing elsewhere."""
    if sys.stdout.isatty():
        sys.stdout.write(f"\r\033[K{line}")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
