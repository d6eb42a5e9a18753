"""scp, sftp and rsync against a real sshd: run as they are written, measured, and logged as baselines."""

import os

import pytest

from tradewind.parameters import UNKNOWN_PARAMETERS
from tradewind.transfer import Direction, Status

FILES, FILE_BYTES = 3, 200_000


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "from"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}").write_bytes(os.urandom(FILE_BYTES))
    (tmp_path / "to").mkdir()
    return folder


def words(tool, ssh, source, to, *, upload):
    """A command line that copies the files there or back."""
    names = [source / f"{number}" for number in range(FILES)]
    remote = ssh.place(to) if upload else [ssh.place(name) for name in names]
    places = (*names, f"{remote}/") if upload else (*remote, f"{to}/")
    if tool == "rsync":
        return ("rsync", "-a", "-e", f"ssh -F {ssh.config}", *places)
    port = ("-P", str(ssh.port))
    if tool == "scp":
        return ("scp", "-q", "-F", ssh.config, *port, *places)
    if not upload:
        return ("sftp", "-q", "-F", ssh.config, *port, ssh.place(f"{source}/*"), f"{to}/")
    batch = source.parent / "batch"
    batch.write_text(f"cd {to}\n" + "".join(f"put {name}\n" for name in names))
    return ("sftp", "-q", "-F", ssh.config, *port, "-b", batch, "127.0.0.1")


@pytest.mark.parametrize("upload", [False, True], ids=["download", "upload"])
@pytest.mark.parametrize("tool", ["scp", "sftp", "rsync"])
def test_a_baseline_over_ssh_is_measured_and_logged(drive, ssh, source, tmp_path, tool, upload):
    line = words(tool, ssh, source, tmp_path / "to", upload=upload)
    report = drive.run(drive.prepare(*line))
    assert report.exit_code == 0, ssh.log.read_text()
    assert sorted(path.read_bytes() for path in (tmp_path / "to").iterdir()) == sorted(
        path.read_bytes() for path in source.iterdir()
    )
    (row,) = drive.spooled()
    assert (row.mover.name, row.protocol) == (tool, "ssh")
    assert row.direction is (Direction.UPLOAD if upload else Direction.DOWNLOAD)
    assert row.outcome.status is Status.SUCCEEDED
    assert (row.outcome.bytes_moved, row.outcome.files_done) == (FILES * FILE_BYTES, FILES)
    assert row.outcome.throughput_bps > 0
    assert row.to_record().parameters == UNKNOWN_PARAMETERS
    assert row.energy[0].total_j > 0
    if tool != "rsync":
        assert report.records[0].path.rtt_s is not None  # timed at the port that the command line names


def test_a_server_that_refuses_is_a_failed_run_with_the_tools_exit_code(drive, ssh, source, tmp_path, capfd):
    report = drive.run(drive.prepare("scp", "-q", "-F", ssh.config, ssh.place(source / "missing"), tmp_path / "to"))
    assert report.exit_code != 0
    assert "exit code 1" in report.format_line()
    assert "missing" in capfd.readouterr().err
