"""Tools that are only measured: they run as they are written, and their work is counted and logged."""

import os
import resource

import pytest

from tradewind.energy.measured import EnergyMethod
from tradewind.parameters import UNKNOWN_PARAMETERS


@pytest.mark.parametrize("line", [("rsync", "-a"), ("scp", "-q", "-r")])
def test_a_baseline_runs_untouched_and_is_logged(drive, tmp_path, line):
    (tmp_path / "from").mkdir()
    for number in range(3):
        (tmp_path / "from" / f"{number}").write_bytes(os.urandom(1000))
    report = drive.run(drive.prepare(*line, tmp_path / "from", tmp_path / "to"))
    (command,) = report.commands
    assert list(command.words[1:]) == [*line[1:], str(tmp_path / "from"), str(tmp_path / "to")]
    assert (report.result.bytes_moved, report.result.files_done) == (3000, 3)
    (row,) = drive.spooled()
    assert (row.mover.name, row.to_record().parameters) == (line[0], UNKNOWN_PARAMETERS)
    assert row.sla is None


def test_files_that_existed_before_are_not_counted(drive, tmp_path):
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "old").write_bytes(bytes(500))
    drive.run(drive.prepare("rsync", "-a", f"{tmp_path}/from/", f"{tmp_path}/to/"))
    (tmp_path / "from" / "new").write_bytes(bytes(700))
    report = drive.run(drive.prepare("rsync", "-a", f"{tmp_path}/from/", f"{tmp_path}/to/"))
    assert (report.result.bytes_moved, report.result.files_done) == (700, 1)


def test_the_work_of_all_processes_of_a_tool_is_counted(drive, tmp_path):
    (tmp_path / "from").write_bytes(os.urandom(60_000_000))
    # rsync is three processes that check and compress: most of its work is not the first one's
    prepared = drive.prepare("rsync", "-z", "--no-whole-file", tmp_path / "from", tmp_path / "to")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = drive.run(prepared)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert report.work.cpu_s >= 0.9 * spent_s > 0.02
    if report.energy[0].method is EnergyMethod.CPU_MODEL:
        assert report.energy[0].dynamic_j > 0
