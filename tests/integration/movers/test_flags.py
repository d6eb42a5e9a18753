"""Each tool runs with what was recommended: by its process's arguments and its connections to a real server."""

import json

import pytest

from tests.integration.movers.conftest import FILE_BYTES, FILES
from tests.integration.movers.driving import recommending
from tradewind.parameters import Parameters
from tradewind.transfer import Direction, Status

WHOLE_BYTES = FILES * FILE_BYTES


def names():
    return [f"f{number:02}" for number in range(FILES)]


def follows(arguments, *words):
    """Whether ``words`` stand in ``arguments`` in a row."""
    return any(arguments[at : at + len(words)] == list(words) for at in range(len(arguments)))


def test_rclone_runs_with_the_recommended_transfers(drive, slow, tmp_path):
    line = ("rclone", "copy", "--http-url", slow.url, "--max-depth", "1", ":http:", tmp_path / "to")
    prepared = drive.prepare(*line, service=recommending(concurrency=4))
    report, seen = drive.watched(prepared, slow.port)
    assert follows(seen.arguments, "--transfers", "4")
    assert follows(seen.arguments, "--multi-thread-streams", "0")
    assert max(seen.connections) >= 4
    assert (report.exit_code, report.result.bytes_moved, report.result.files_done) == (0, WHOLE_BYTES, FILES)
    assert sorted(path.name for path in (tmp_path / "to").iterdir()) == names()


def test_rclone_fetches_a_large_file_by_the_recommended_streams(drive, slow, tmp_path):
    line = ("rclone", "copy", "--http-url", f"{slow.url}large/", "--bwlimit", "12M", ":http:", tmp_path / "to")
    fast = (*line[:3], f"{slow.url}fast/large/", *line[4:])
    report, seen = drive.watched(drive.prepare(*fast, service=recommending(1, parallelism=3)), slow.port)
    assert follows(seen.arguments, "--multi-thread-streams", "3")
    assert max(seen.connections) >= 3
    assert report.result.bytes_moved == 24_000_000


def test_aria2_runs_with_the_recommended_files_and_streams(drive, slow, tmp_path):
    (tmp_path / "list").write_text("".join(f"{slow.url}{name}\n" for name in names()))
    line = ("aria2c", "-q", "-d", tmp_path / "to", "-i", tmp_path / "list")
    report, seen = drive.watched(drive.prepare(*line, service=recommending(5, 2)), slow.port)
    assert {"-j5", "-s2", "-x2"} <= set(seen.arguments)
    assert max(seen.connections) == 5  # files below --min-split-size are not split
    assert (report.exit_code, report.result.bytes_moved, report.result.files_done) == (0, WHOLE_BYTES, FILES)


def test_aria2_command_line_has_no_secret(drive, slow, tmp_path):
    line = ("aria2c", "-q", "-d", tmp_path / "to", f"{slow.url}f00")
    _, seen = drive.watched(drive.prepare(*line, service=recommending(1)), slow.port)
    assert seen.arguments
    assert not any(word.startswith("--rpc") for word in seen.arguments)


def test_curl_runs_with_the_recommended_transfers(drive, slow, tmp_path, capfd):
    line = ("curl", "--output-dir", tmp_path, "--remote-name-all", f"{slow.url}f0[0-9]")
    report, seen = drive.watched(drive.prepare(*line, service=recommending(6)), slow.port)
    assert follows(seen.arguments, "-Z", "--parallel-max", "6")
    assert max(seen.connections) == 6
    assert (report.exit_code, report.result.bytes_moved, report.result.files_done) == (0, 10 * FILE_BYTES, 10)
    shown = capfd.readouterr().err
    assert "Xfers" in shown  # curl's own meter is seen as ever
    assert "size_download" not in shown  # our report is not


def test_silent_curl_stays_silent(drive, slow, tmp_path, capfd):
    line = ("curl", "-s", "--output-dir", tmp_path, "--remote-name-all", f"{slow.url}f0[0-9]")
    report, seen = drive.watched(drive.prepare(*line, service=recommending(4)), slow.port)
    assert follows(seen.arguments, "-Z", "--parallel-max", "4")
    assert report.exit_code == 0
    assert "Xfers" not in capfd.readouterr().err


def test_curl_that_writes_to_standard_output_stays_serial(drive, slow, capfdbinary, files):
    line = ("curl", "-s", f"{slow.url}fast/f00", f"{slow.url}fast/f01")
    report, _ = drive.watched(drive.prepare(*line, service=recommending(6)), slow.port)
    assert capfdbinary.readouterr().out == (files / "f00").read_bytes() + (files / "f01").read_bytes()
    assert report.current_parameters == Parameters(concurrency=1)
    assert any("standard output" in note for note in report.notes)


@pytest.mark.parametrize(
    ("line", "own", "added"),
    [
        (("rclone", "copy", "--transfers=7"), {"concurrency": 7}, ("--multi-thread-streams", "3")),
        (("aria2c", "-j7"), {"concurrency": 7}, ("-s3", "-x3")),
        (("aria2c", "-x4", "-s4"), {"parallelism": 4}, ("-j2",)),
        (("globus-url-copy", "-p", "7"), {"parallelism": 7}, ("-cc", "2")),
        (("globus-url-copy", "-cc", "7", "-pp"), {"concurrency": 7}, ("-p", "3")),
        (("rclone", "copy", "--transfers", "7"), {"concurrency": 7}, ("--multi-thread-streams", "3")),
        (("aria2c", "-j", "7"), {"concurrency": 7}, ("-s3", "-x3")),
        (("aria2c", "--max-concurrent-downloads=7"), {"concurrency": 7}, ("-s3", "-x3")),
        (("curl", "-Z", "--parallel-max", "7", "-o", "x"), {"concurrency": 7}, ()),
    ],
)
def test_the_users_own_flags_win(drive, slow, grid, tmp_path, line, own, added):
    places = {
        "rclone": ("--http-url", slow.url, ":http:", tmp_path),
        "globus-url-copy": (grid.url(tmp_path / "a"), f"file://{tmp_path}/b"),
    }.get(line[0], (f"{slow.url}f00",))
    prepared = drive.prepare(*line, *places, service=recommending(2, 3))
    words = list(prepared.build_first_command().words)
    assert prepared.task.by_hand.list_known() == own
    assert follows(words, *added)
    assert prepared.plan.parameters.list_known().items() >= own.items()
    for option in ("--transfers", "--parallel-max", "-p"):
        assert sum(word == option or word.startswith(f"{option}=") for word in words) <= 1
    assert ("-j2" in words) is ("-j2" in added)


def test_curl_keeps_our_words_out_of_the_addresses(drive, slow, tmp_path, files):
    line = ("curl", "-sS", "-o", tmp_path / "out", "--", f"{slow.url}fast/f00")
    report = drive.run(drive.prepare(*line, service=recommending(2)))
    assert (report.exit_code, report.result.bytes_moved) == (0, FILE_BYTES)
    assert (tmp_path / "out").read_bytes() == (files / "f00").read_bytes()
    assert report.commands[0].words[-2:] == ("--", f"{slow.url}fast/f00")


def test_curls_own_configuration_wins(drive, slow, tmp_path, capfd):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".curlrc").write_text('silent\nparallel\nparallel-max = 2\nwrite-out = "%{url}\\n"\n')
    names = (f"{slow.url}fast/f00", f"{slow.url}fast/f01")
    prepared = drive.prepare("curl", "--output-dir", tmp_path, "-O", "-O", *names, service=recommending(6))
    report = drive.run(prepared)
    assert prepared.task.by_hand == Parameters(concurrency=2)
    assert "--parallel-max" not in report.commands[0].words
    assert sorted(capfd.readouterr().out.splitlines()) == sorted(names)
    assert report.result.files_done == 2


def test_each_part_of_a_line_of_curl_writes_its_own(drive, slow, tmp_path, capfd):
    one, other = (("-w", each, "-o", tmp_path / each, f"{slow.url}fast/f00") for each in "AB")
    report = drive.run(drive.prepare("curl", "-s", *one, "--next", "-s", *other, service=recommending(2)))
    assert capfd.readouterr().out == "AB"
    assert report.result.files_done == 2


def test_a_variable_of_rclone_is_the_users_word_too(drive, slow, tmp_path, monkeypatch):
    monkeypatch.setenv("RCLONE_TRANSFERS", "9")
    prepared = drive.prepare("rclone", "copy", "--http-url", slow.url, ":http:", tmp_path, service=recommending(2))
    assert prepared.task.by_hand == Parameters(concurrency=9)
    assert "--transfers" not in prepared.build_first_command().words


def test_recommendation_request_names_tool_and_its_files(drive, slow, tmp_path):
    service = recommending(2)
    drive.prepare("curl", "-O", "-O", f"{slow.url}f00", f"{slow.url}f01", service=service)
    asked = json.loads(service.requests[0].content)
    assert asked["mover"] == "curl"
    assert (asked["dataset"]["file_count"], asked["dataset"]["total_bytes"]) == (2, 2 * FILE_BYTES)
    assert (asked["source"], asked["destination"]) == ("alpha", "beta")


def test_a_tool_of_one_stream_a_file_is_recommended_no_more(drive, slow, tmp_path):
    service = recommending(2)
    drive.prepare("curl", "-O", "-O", f"{slow.url}f00", f"{slow.url}f01", service=service)
    assert json.loads(service.requests[0].content)["limits"]["parallelism"] == 1
    prepared = drive.prepare("curl", "-O", f"{slow.url}large/f00")
    assert prepared.plan.source == "heuristic"
    assert {each.parameters.parallelism for each in prepared.plan.chunks} == {1}
    assert not prepared.requested.by_hand.list_known()


def test_without_a_service_the_rules_decide(drive, slow, tmp_path):
    prepared = drive.prepare("rclone", "copy", "--http-url", slow.url, "--max-depth=1", ":http:", tmp_path)
    assert prepared.plan.source == "heuristic"
    assert "--transfers" in prepared.build_first_command().words


def test_inexpressible_parameters_are_reported(drive, slow, grid, tmp_path):
    service = recommending(2, parallelism=20, pipelining=8)
    said = {
        line[0]: " ".join(drive.prepare(*line, service=service).not_expressible)
        for line in (
            ("rclone", "copy", "--http-url", slow.url, ":http:", tmp_path),
            ("aria2c", f"{slow.url}f00"),
            ("curl", "-O", f"{slow.url}f00"),
            ("globus-url-copy", grid.url(tmp_path), f"file://{tmp_path}/"),
        )
    }
    assert "no pipelining" in said["rclone"]
    assert "at most 16" in said["aria2c"]
    assert "one stream a file" in said["curl"]
    assert "-pp is a switch" in said["globus-url-copy"]


def test_the_log_has_a_record_of_what_the_tool_did(drive, slow, tmp_path):
    line = ("rclone", "copy", "--http-url", f"{slow.url}fast/", "--max-depth=1", ":http:", tmp_path / "to")
    prepared = drive.prepare(*line, service=recommending(4, pipelining=8))
    report = drive.run(prepared)
    (row,) = drive.spooled()
    record = row.to_record()
    assert (record.mover.name, record.mover.version) == ("rclone", prepared.installed.version)
    assert (record.source, record.destination, record.network) == ("alpha", "beta", "wan")
    assert (record.direction, record.protocol) == (Direction.DOWNLOAD, "http")
    assert record.parameters == Parameters(concurrency=4, parallelism=1)  # rclone has no pipelining to be known
    assert (record.dataset.file_count, record.dataset.max_file_bytes) == (FILES, FILE_BYTES)
    assert (record.outcome.status, record.outcome.bytes_moved) == (Status.SUCCEEDED, WHOLE_BYTES)
    assert record.path.rtt_s == 0.05
    assert record.transfer_id == prepared.plan.transfer_id
    assert record.energy[0].total_j > 0
    assert record.usage is not None
    assert record.duration_s == pytest.approx(report.duration_s, abs=1e-5)
