"""Settings that change while the work is under way, each tool in its own way."""

from dataclasses import replace

from tests.integration.movers.conftest import FILE_BYTES, FILES
from tests.integration.movers.driving import WAN, Retuner, arguments_of, connections_to, recommending, tool_process
from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan

TUNED = replace(WAN, tune=True, tick_s=60.0)
"""The loop is there, but leaves the retuning to the test."""


def plan_single_chunk(concurrency, parallelism=1):
    return [ChunkPlan(ChunkKind.WHOLE, None, Parameters(concurrency=concurrency, parallelism=parallelism))]


def counting(port):
    def count():
        process = tool_process()
        return 0 if process is None else connections_to(process, port)

    return count


def test_aria2_takes_more_files_at_once_while_it_runs(drive, slow, tmp_path):
    (tmp_path / "list").write_text("".join(f"{slow.url}f{number:02}\n" for number in range(FILES)))
    line = ("aria2c", "-q", "-d", tmp_path / "to", "-i", tmp_path / "list")
    retuner = Retuner(plan_single_chunk(8), counting(slow.port), until=2)
    report = drive.run(drive.prepare(*line, service=recommending(2)), retuner)
    assert retuner.changed
    assert retuner.before == 2
    assert max(retuner.after) == 8
    assert report.current_parameters.concurrency == 8
    assert report.result.files_done == FILES
    assert len(report.commands) == 1  # the same process


def test_aria2_opens_more_streams_of_a_large_file_while_it_runs(drive, quick, tmp_path):
    line = ("aria2c", "-q", "-d", tmp_path / "to", f"{quick.url}large/one")
    retuner = Retuner(plan_single_chunk(1, 4), counting(quick.port), until=1)
    report = drive.run(drive.prepare(*line, service=recommending(1)), retuner)
    assert retuner.before == 1
    assert max(retuner.after) == 4
    assert report.result.bytes_moved == 24_000_000


def test_aria2_opens_more_streams_of_files_that_wait(drive, slow, tmp_path):
    (tmp_path / "list").write_text("".join(f"{slow.url}f{number:02}\n" for number in range(FILES)))
    line = ("aria2c", "-q", "-d", tmp_path / "to", "-i", tmp_path / "list")
    retuner = Retuner(plan_single_chunk(2, 4), counting(slow.port), until=2)
    report = drive.run(drive.prepare(*line, service=recommending(2)), retuner)
    assert retuner.changed
    assert report.current_parameters == Parameters(concurrency=2, parallelism=4)
    assert report.result.files_done == FILES


def test_options_of_the_user_are_not_retuned(drive, slow, tmp_path):
    line = (
        "aria2c",
        "-q",
        "-j2",
        "-s1",
        "-x1",
        "-Z",
        "-d",
        tmp_path,
        *(f"{slow.url}f0{number}" for number in range(4)),
    )
    retuner = Retuner(plan_single_chunk(8, 4), counting(slow.port), until=2)
    report = drive.run(drive.prepare(*line, service=recommending(5)), retuner)
    assert retuner.changed is False
    assert report.current_parameters == Parameters(concurrency=2, parallelism=1)


def test_rclone_changes_between_runs_over_parts_of_its_list(drive, slow, tmp_path):
    many = tmp_path / "many"
    many.mkdir()
    for number in range(48):
        (many / f"file {number}").write_bytes(bytes(1000))
    # 48 kB at a predicted 96 kbit/s last 4 s: two runs of 2 s, with at least 8 files a stream in each
    line = ("rclone", "copy", many, tmp_path / "to", "--bwlimit", "40k")
    prepared = drive.prepare(*line, service=recommending(2, mean_bps=96_000), copy=TUNED, round_s=2.0)
    transfers, progress = [], []

    def retune(run):
        process = tool_process()
        if process is not None and (words := arguments_of(process)):
            transfers.append(words[words.index("--transfers") + 1])
            progress.append(run.measure_progress())
            run.retune(plan_single_chunk(5))

    report = drive.run(prepared, retune)
    assert len(report.commands) == 2
    assert list(dict.fromkeys(transfers)) == ["2", "5"]
    assert (report.result.files_done, report.result.bytes_moved) == (48, 48_000)
    assert len(list((tmp_path / "to").iterdir())) == 48
    left = [each.files_left for each in progress]
    assert left == sorted(left, reverse=True)
    assert left[-1] < 48


def test_rclone_with_filters_of_the_users_own_is_not_split(drive, tmp_path):
    many = tmp_path / "many"
    many.mkdir()
    for number in range(48):
        (many / f"{number}").write_bytes(bytes(1000))
    line = ("rclone", "copy", "--include", "1*", many, tmp_path / "to")
    prepared = drive.prepare(*line, service=recommending(1, mean_bps=10_000), copy=TUNED, round_s=1.0)
    report = drive.run(prepared)
    assert (len(report.commands), report.live) == (1, "nothing")
    assert report.result.files_done == 11  # those that begin with 1, as listed by rclone's own rules
    assert prepared.workload.sizes_bytes == (1000,) * 11


def test_rclone_with_a_filter_in_a_variable_is_not_split(drive, tmp_path, monkeypatch):
    monkeypatch.setenv("RCLONE_EXCLUDE", "*.tmp")
    many = tmp_path / "many"
    many.mkdir()
    for number in range(48):
        (many / f"{number}").write_bytes(bytes(1000))
    (many / "left.tmp").write_bytes(bytes(1000))
    line = ("rclone", "copy", many, tmp_path / "to")
    report = drive.run(drive.prepare(*line, service=recommending(1, mean_bps=10_000), copy=TUNED, round_s=1.0))
    assert (report.exit_code, len(report.commands), report.result.files_done) == (0, 1, 48)


def test_tools_without_a_way_say_so_and_do_not_pretend(drive, slow, grid, tmp_path):
    lines = (("curl", "-o", tmp_path / "x", f"{slow.url}f00"), ("rsync", "-a", tmp_path, tmp_path / "to"))
    for line in lines:
        prepared = drive.prepare(*line, service=recommending(1))
        answers = []
        drive.run(prepared, lambda run, answers=answers: answers.append(run.retune(plan_single_chunk(9))))
        assert prepared.task.live.startswith("nothing")
        assert answers
        assert not any(answers)


def test_progress_follows_the_transfer(drive, slow, tmp_path):
    (tmp_path / "list").write_text("".join(f"{slow.url}f{number:02}\n" for number in range(FILES)))
    line = ("aria2c", "-q", "-d", tmp_path / "to", "-i", tmp_path / "list")
    seen = []
    drive.run(drive.prepare(*line, service=recommending(4)), lambda run: seen.append(run.measure_progress()))
    moved = [each.bytes_moved for each in seen]
    assert moved[-1] == FILES * FILE_BYTES
    assert any(0 < each < moved[-1] for each in moved)
    assert seen[-1].files_left == 0
