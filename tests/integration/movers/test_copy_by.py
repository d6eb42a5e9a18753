"""Copies by other tools: the same files as by our own engine."""

import os

import pytest

from tests.integration.agent.support.command import environment, run
from tests.integration.engine.servers.web_servers import nginx
from tests.integration.movers.driving import recommending
from tests.integration.movers.test_bad_input import WAN
from tests.integration.movers.test_live import plan_single_chunk
from tests.integration.serve_files.serving import serving
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.movers.copy_by_tool import prepare_copy_by
from tradewind_agent.movers.wrap.prepare import WrapOptions


@pytest.fixture
def user(tmp_path):
    return environment(tmp_path / "home", TRADEWIND_SPOOL=str(tmp_path / "spool"))


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("mover", ["rclone", "aria2", "curl", "tradewind"])
def test_folder_is_copied_completely(user, slow, files, tmp_path, mover):
    ended = run("copy", *WAN, "--json", "--mover", mover, f"{slow.url}fast/", str(tmp_path / "to"), env=user)
    assert ended.code == 0, ended.err
    assert contents(tmp_path / "to") == contents(files)
    record = next(row for row in ended.document["records"] if row["chunk"] == "whole")
    assert record["mover"]["name"] == mover
    assert record["outcome"]["bytes_moved"] == sum(len(content) for content in contents(files).values())


@pytest.mark.parametrize("mover", ["rclone", "aria2", "curl"])
def test_one_file_is_copied_under_its_name(user, slow, files, tmp_path, mover):
    to = tmp_path / "f01"
    ended = run("copy", *WAN, "--mover", mover, f"{slow.url}fast/f01", str(to), env=user)
    assert ended.code == 0, ended.err
    assert to.read_bytes() == (files / "f01").read_bytes()


def test_globus_url_copy_copies_from_a_gridftp_server(user, grid, tmp_path):
    source = tmp_path / "from"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "one").write_bytes(b"1" * 1000)
    (source / "two").write_bytes(b"2" * 1000)
    to = tmp_path / "to"
    ended = run("copy", *WAN, "--mover", "globus-url-copy", f"{grid.url(source)}/", str(to), env=user)
    assert ended.code == 0, ended.err
    assert contents(to) == contents(source)


def test_parameters_set_by_hand_become_the_tools_flags(user, slow, tmp_path):
    line = (
        "copy",
        *WAN,
        "--mover",
        "curl",
        "--concurrency",
        "3",
        "--dry-run",
        f"{slow.url}fast/",
        str(tmp_path / "to"),
    )
    assert "--parallel-max 3" in run(*line, env=user).out


def test_a_list_is_split_into_runs_of_curl_with_settings_of_their_own(drive, tmp_path):
    folder = tmp_path / "from"
    folder.mkdir(mode=0o755)
    for number in range(24):
        (folder / f"{number}").write_bytes(bytes(1000))
    tmp_path.chmod(0o755)
    (work := tmp_path / "work").mkdir()
    with nginx(folder, work) as origin, recommending(1, mean_bps=64_000).client() as client:
        # 24 kB at a predicted 64 kbit/s last 3 s: a first run of 1 s, with 8 files a stream;
        # what is left is too little for two runs of four streams
        prepared = prepare_copy_by(
            "curl",
            [origin.url, str(tmp_path / "to")],
            options=WrapOptions(copy=CopyOptions(bandwidth_bps=1e9, rtt_s=0.05, tick_s=60.0), round_s=1.0),
            environment=os.environ,
            folder=work,
            client=client,
        )
        report = drive.run(prepared, lambda under_way: under_way.retune(plan_single_chunk(4)))
    settings = [command.words[command.words.index("--parallel-max") + 1] for command in report.commands]
    assert settings == ["1", "4"]
    assert (report.result.files_done, report.result.bytes_moved) == (24, 24_000)
    assert contents(tmp_path / "to") == contents(folder)


def test_copy_that_a_tool_cannot_make_is_wrong_usage(user, slow, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    unknown = run("copy", *WAN, "--mover", "wget", f"{slow.url}f00", str(tmp_path), env=user)
    wrapped_only = run("copy", *WAN, "--mover", "aws", f"{slow.url}f00", str(tmp_path), env=user)
    upload = run("copy", *WAN, "--mover", "aria2", str(tmp_path / "file"), f"{slow.url}up/", env=user)
    renamed = run("copy", *WAN, "--mover", "rclone", f"{slow.url}f00", str(tmp_path / "other"), env=user)
    assert [unknown.code, wrapped_only.code, upload.code, renamed.code] == [2, 2, 2, 2]
    assert "rclone, aria2, curl, globus-url-copy, tradewind" in wrapped_only.error
    assert "rclone, aria2, curl, globus-url-copy, tradewind" in unknown.error


@pytest.mark.parametrize("mover", ["rclone", "aria2", "curl"])
@pytest.mark.parametrize("name", ["a\n  dir=.\n  out=.profile", "a\rb"])
def test_a_name_that_would_add_a_line_to_a_tools_list_is_refused(user, tmp_path, mover, name):
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / name).write_bytes(b"x")
    with serving(tmp_path / "from") as server:
        ended = run("copy", *WAN, "--mover", mover, f"{server.url}/", str(tmp_path / "to"), env=user, cwd=tmp_path)
    assert ended.code == 2
    assert "cannot be given the name" in ended.error
    assert not (tmp_path / ".profile").exists()


def test_name_that_aria2_would_trim_is_refused(user, tmp_path):
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / " a").write_bytes(b"x")
    with serving(tmp_path / "from") as server:
        ended = run("copy", *WAN, "--mover", "aria2", f"{server.url}/", str(tmp_path / "to"), env=user)
    assert ended.code == 2, ended.err
    assert "cannot be given the name" in ended.error


def test_globus_url_copy_is_refused_addresses_that_it_cannot_list(user, slow, tmp_path):
    ended = run("copy", *WAN, "--mover", "globus-url-copy", f"{slow.url}f00", str(tmp_path), env=user)
    assert ended.code == 2
    assert f"driven between gsiftp://, sshftp://, ftp://, file:// and local paths; got {slow.url}f00" in ended.error
    assert not list((tmp_path / "spool").glob("*.ndjson*"))
