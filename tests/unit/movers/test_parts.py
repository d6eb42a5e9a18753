"""Small parts: rounds, globs, remotes, logs that are read while they grow, tools by name."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.dataset import ChunkKind
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.movers.aria2.command import parse_options, read_configuration
from tradewind_agent.movers.aria2.mover import Aria2Run
from tradewind_agent.movers.command_line import ParsedWords
from tradewind_agent.movers.curl.url_globs import MAX_ADDRESSES, expand_globs
from tradewind_agent.movers.port import RunSettings
from tradewind_agent.movers.rclone.log import RcloneLog
from tradewind_agent.movers.rclone.mover import Echo
from tradewind_agent.movers.rclone.remotes import find_host
from tradewind_agent.movers.registry import find_mover, list_movers
from tradewind_agent.movers.rounds import count_rounds, split_by_bytes

NO_OPTIONS = ParsedWords({}, ())


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=60), st.integers(1, 20))
def test_rounds_cover_each_file_once_in_order_and_none_is_empty(sizes, rounds):
    parts = split_by_bytes(sizes, rounds)
    assert [at for part in parts for at in part] == list(range(len(sizes)))
    assert all(len(part) for part in parts)
    assert len(parts) == min(rounds, len(sizes))


def test_rounds_hold_about_as_many_bytes_each():
    assert [len(part) for part in split_by_bytes([1] * 90 + [30] * 3, 3)] == [60, 31, 2]


def test_work_is_only_split_where_runs_last_and_streams_stay_busy():
    hundred_seconds = [125_000] * 1000
    assert count_rounds(hundred_seconds, 1e7, 20.0, at_once=4) == 5
    assert count_rounds(hundred_seconds, 1e7, 20.0, at_once=64) == 1
    assert count_rounds(hundred_seconds, 1e9, 20.0, at_once=4) == 1
    assert count_rounds(hundred_seconds, None, 20.0, at_once=4) == 1
    assert count_rounds(hundred_seconds, 1e7, None, at_once=4) == 1


@pytest.mark.parametrize(
    ("glob", "addresses"),
    [
        ("http://x/a", ["http://x/a"]),
        ("http://x/[8-10]", ["http://x/8", "http://x/9", "http://x/10"]),
        ("http://x/[08-10:2].bin", ["http://x/08.bin", "http://x/10.bin"]),
        ("http://{a,b}/[c-d]", ["http://a/c", "http://a/d", "http://b/c", "http://b/d"]),
        ("http://[::1]/a", ["http://[::1]/a"]),
    ],
)
def test_curls_globs_stand_for_addresses(glob, addresses):
    assert expand_globs(glob) == addresses


def test_a_huge_glob_does_not_fill_the_memory():
    assert len(expand_globs("http://x/[1-999999999]/[1-999999999]")) == MAX_ADDRESSES


CONFIGURATION = "[store]\ntype = s3\nendpoint = https://s3.example.org:9000\n[home]\ntype = sftp\nhost = box\n"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/data/x", (None, "file", None)),
        ("./a:b", (None, "file", None)),
        (":local:/x", (None, "file", None)),
        (":http,url='http://host.example:81/':x", ("host.example", "http", 81)),
        ("store:bucket", ("s3.example.org", "https", 9000)),
        ("home:dir", ("box", "sftp", None)),
        ("unheard:dir", ("unheard", "unknown", None)),
    ],
)
def test_host_of_a_remote_is_found_where_it_is_configured(tmp_path, place, expected):
    (tmp_path / "rclone.conf").write_text(CONFIGURATION)
    environment = {"RCLONE_CONFIG": str(tmp_path / "rclone.conf"), "HOME": str(tmp_path)}
    assert find_host(place, NO_OPTIONS, environment) == expected


def test_the_host_of_a_backend_is_found_in_its_option_or_variable():
    given_by_flag = ParsedWords({"http-url": ("http://a.example/",)}, ())
    assert find_host(":http:x", given_by_flag, {})[0] == "a.example"
    assert find_host(":http:x", NO_OPTIONS, {"RCLONE_HTTP_URL": "https://b.example/"}) == ("b.example", "https", None)


def test_an_encrypted_configuration_is_no_error(tmp_path):
    (tmp_path / "rclone.conf").write_bytes(b"# Encrypted\nRCLONE_ENCRYPT_V0:\n\xff\xfe\x00")
    assert find_host("x:y", NO_OPTIONS, {"RCLONE_CONFIG": str(tmp_path / "rclone.conf")}) == ("x", "unknown", None)


def line(**message):
    return json.dumps({"level": "error", "time": "2026-05-01T12:00:00Z", **message}) + "\n"


def stats(elapsed_s, moved):
    return line(
        msg="Transferred", stats={"bytes": moved, "transfers": moved // 10, "errors": 1, "elapsedTime": elapsed_s}
    )


def test_statistics_are_ours_and_messages_the_users(tmp_path):
    told = []
    path = tmp_path / "log"
    log = RcloneLog(path, told.append, as_json=False, stats_every_s=None)
    log.read()
    path.write_text(stats(1, 10) + line(object="f", msg="Failed to copy") + stats(2, 30)[:20])
    log.read()
    assert (log.totals.bytes_moved, log.has_statistics) == (10, True)
    assert told == [b"2026/05/01 12:00:00 ERROR : f: Failed to copy\n"]
    with path.open("a") as file:
        file.write(stats(2, 30)[20:])
    log.read()
    log.close()
    assert (log.totals.bytes_moved, log.totals.files_done, log.totals.files_failed) == (30, 3, 1)
    assert len(told) == 1


def test_user_sees_statistics_in_requested_interval(tmp_path):
    told = []
    (tmp_path / "log").write_text("".join(stats(second, 10) for second in range(1, 8)))
    log = RcloneLog(tmp_path / "log", told.append, as_json=True, stats_every_s=3.0)
    log.read()
    assert [json.loads(each)["stats"]["elapsedTime"] for each in told] == [3, 6]
    log.close()
    assert json.loads(told[-1])["stats"]["elapsedTime"] == 7


def test_counts_that_nobody_can_have_moved_are_not_taken_in(tmp_path):
    told = []
    (tmp_path / "log").write_text(line(msg="x", stats={"bytes": 9e99, "transfers": 1, "errors": 0}))
    log = RcloneLog(tmp_path / "log", told.append, as_json=False, stats_every_s=None)
    log.read()
    assert not log.has_statistics
    assert len(told) == 1


class Refusing:
    """An aria2c that takes all but one kind of change."""

    def __init__(self, refused):
        self.refused = refused

    def call(self, method, *_):
        return None if method == self.refused else "OK"

    def call_each(self, method, calls):
        return [self.call(method) for _ in calls]

    def list_active(self):
        return [{"gid": "1", "totalLength": "100000000", "completedLength": "0"}]

    def list_waiting(self):
        return []


@pytest.mark.parametrize(
    ("refused", "taken"),
    [
        ("changeGlobalOption", Parameters(concurrency=4, parallelism=4)),
        ("changeOption", Parameters(concurrency=16, parallelism=1)),
    ],
)
def test_only_settings_accepted_by_aria2_are_current(refused, taken, tmp_path):
    task = SimpleNamespace(addresses=("http://host/one",))
    run = Aria2Run(task, RunSettings(parameters=Parameters(concurrency=4, parallelism=1)), tmp_path)
    run._rpc = Refusing(refused)
    wanted = [ChunkPlan(ChunkKind.WHOLE, None, Parameters(concurrency=16, parallelism=4))]
    assert run.retune(wanted)
    assert run.current_parameters == taken
    assert not run.retune(wanted)  # asked for again, and refused again
    run._rpc = Refusing(None)
    assert run.retune(wanted)
    assert run.current_parameters == wanted[0].parameters


def test_a_configuration_of_aria2_is_found_where_aria2_looks(tmp_path):
    environment = {"HOME": str(tmp_path)}
    assert read_configuration(NO_OPTIONS, environment) == ()
    (tmp_path / ".aria2").mkdir()
    (tmp_path / ".aria2" / "aria2.conf").write_text("# mine\nsplit=3\n")
    found = read_configuration(NO_OPTIONS, environment)
    assert parse_options(found) == {"split": ("3",)}
    assert read_configuration(ParsedWords({"no-conf": ("",)}, ()), environment) == ()


def test_tools_are_known_by_the_name_of_their_program():
    assert [mover.name for mover in list_movers()] == [
        "rclone", "aria2", "curl", "globus-url-copy", "aws", "s5cmd", "scp", "sftp", "rsync",
    ]  # fmt: skip
    assert find_mover("/opt/bin/aria2c").name == "aria2"
    for wrong in ("wget", "", "/"):
        with pytest.raises(InvalidValue, match="it tunes rclone, aria2c"):
            find_mover(wrong)


def test_messages_go_to_standard_error_if_log_file_is_unwritable(tmp_path, capfd):
    kept = tmp_path / "folder" / "rclone.log"
    echo = Echo(str(kept))
    echo(b"one\n")
    kept.parent.mkdir()
    echo(b"two\n")
    assert not kept.exists()
    why = f"tradewind: {kept} cannot be written (No such file or directory); its messages follow here\n"
    assert capfd.readouterr().err == f"{why}one\ntwo\n"


def test_messages_are_added_to_the_file_that_the_user_named(tmp_path):
    kept = tmp_path / "rclone.log"
    kept.write_bytes(b"before\n")
    Echo(str(kept))(b"one\n")
    assert kept.read_bytes() == b"before\none\n"
