"""globus-url-copy against a real globus-gridftp-server, judged by the server's own log."""

import os

from tests.conditions import eventually
from tests.integration.movers.driving import arguments_of, connections_of, recommending, tool_process
from tradewind.parameters import Parameters
from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.importing import import_file
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow


def source(folder, count=6, size=300_000):
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}").write_bytes(os.urandom(size))
    return folder


def logged(grid, below):
    """The server's records of files below a folder."""
    lines = [line for line in grid.transfers() if f"FILE={below}" in line]
    context = ImportContext(source="alpha", destination="beta")
    path = grid.log.with_suffix(".part")
    path.write_text("".join(f"{line}\n" for line in lines))
    return [row.record for row in import_file(path, format="gridftp", context=context) if isinstance(row, ImportedRow)]


def test_a_download_uses_the_recommended_streams_and_is_logged(drive, grid, tmp_path):
    folder = source(tmp_path / "from")
    (tmp_path / "to").mkdir()
    line = ("globus-url-copy", "-r", f"{grid.url(folder)}/", f"file://{tmp_path}/to/")
    report = drive.run(drive.prepare(*line, service=recommending(2, parallelism=3, pipelining=8)))
    assert report.exit_code == 0
    rows = eventually(lambda: rows if len(rows := logged(grid, folder)) == 6 else None)
    assert {row.parameters.parallelism for row in rows} == {3}
    assert max(row.parameters.concurrency for row in rows) <= 2
    (row,) = drive.spooled()
    assert (row.mover.name, row.protocol, row.direction) == ("globus-url-copy", "ftp", Direction.DOWNLOAD)
    assert (row.outcome.bytes_moved, row.outcome.files_done) == (6 * 300_000, 6)
    assert row.to_record().parameters == Parameters(concurrency=2, parallelism=3)


def test_its_process_has_the_flags_and_opens_the_streams(drive, grid, tmp_path):
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(1 << 29)  # sparse: it costs no disk, and lasts long enough to be looked at
    line = ("globus-url-copy", grid.url(huge), "file:///dev/null")
    arguments, connections = [], []

    def look(_):
        if (process := tool_process()) is not None:
            arguments.append(arguments_of(process))
            connections.append(connections_of(process))

    report = drive.run(drive.prepare(*line, service=recommending(1, parallelism=4, pipelining=8)), look)
    assert arguments[0][1:6] == ["-cc", "1", "-p", "4", "-pp"]
    assert max(len(each) for each in connections) == 5  # the control connection, and four for data
    assert report.exit_code == 0


def test_an_upload_is_listed_before_and_counted_after(drive, grid, tmp_path):
    folder = source(tmp_path / "from")
    line = ("globus-url-copy", "-cd", "-r", f"file://{folder}/", f"{grid.url(tmp_path)}/to/")
    prepared = drive.prepare(*line, service=recommending(2))
    assert prepared.workload.sizes_bytes == (300_000,) * 6
    report = drive.run(prepared)
    assert (report.result.bytes_moved, report.result.files_failed) == (6 * 300_000, 0)
    assert drive.spooled()[0].direction is Direction.UPLOAD


def test_files_that_fail_are_counted_and_the_exit_code_is_the_tools(drive, grid, tmp_path):
    folder = source(tmp_path / "from", count=1)
    pairs = [(f"{grid.url(folder)}/{name}", f"file://{tmp_path}/{name}") for name in ("0", "missing")]
    (tmp_path / "pairs").write_text("".join(f"{one} {other}\n" for one, other in pairs))
    report = drive.run(drive.prepare("globus-url-copy", "-c", "-f", tmp_path / "pairs", service=recommending(1)))
    assert report.exit_code == 1
    assert (report.result.files_done, report.result.files_failed) == (1, 1)
    (row,) = drive.spooled()
    assert (row.outcome.status, row.outcome.bytes_moved) == (Status.FAILED, 300_000)
