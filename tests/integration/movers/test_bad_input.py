"""Tools that are missing, too old, killed, or print nonsense; command lines that cannot be meant."""

import os
import signal
import sys

import psutil
import pytest

from tests.conditions import eventually
from tests.endings import is_gone
from tests.integration.agent.support.command import environment, run, start
from tests.integration.movers.conftest import FILE_BYTES
from tests.integration.movers.driving import recommending, tool_process
from tradewind.transfer import Status
from tradewind.wire.records import parse_row
from tradewind_agent.errors import ToolUnusable
from tradewind_agent.history.spool import Spool
from tradewind_agent.movers.registry import find_installed, list_movers

WAN = ("--bandwidth", "1Gbps", "--rtt", "50ms", "--base-power", "0s")
FAILED, UNKNOWN = "0 B in 0 files, 1 failed", "it does not tell what it moved"


@pytest.fixture
def user(tmp_path):
    return environment(tmp_path / "home", TRADEWIND_SPOOL=str(tmp_path / "spool"))


def impostor(folder, name, script):
    """A program of this name, before the real one on PATH."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys\n{script}\n")
    path.chmod(0o755)
    return os.pathsep.join([str(folder), os.environ["PATH"]])


def test_unknown_tool_is_usage_error_with_list_of_tools(user):
    ended = run("wrap", *WAN, "--", "ftp", "host", env=user)
    assert ended.code == 2
    tools = ("rclone", "aria2c", "curl", "globus-url-copy", "aws", "s5cmd", "scp", "sftp", "rsync")
    assert all(name in ended.error for name in tools)


@pytest.mark.parametrize("words", [("rclone", "lsd", "x:"), ("aria2c",), ("curl", "-s"), ("globus-url-copy", "-cd")])
def test_a_command_line_that_moves_nothing_is_wrong_usage(user, words):
    ended = run("wrap", *WAN, "--", *words, env=user)
    assert (ended.code, words[0] in ended.error) == (2, True)


def test_missing_tool_is_reported_with_its_package(user, tmp_path):
    ended = run("wrap", *WAN, "--", "aria2c", "http://host/file", env=user | {"PATH": str(tmp_path)})
    assert ended.code == 1
    assert "apt install aria2" in ended.error


def test_a_tool_that_is_too_old_is_not_run(user, tmp_path):
    path = impostor(tmp_path / "bin", "rclone", 'print("rclone v1.40"); open("ran", "w")')
    ended = run("wrap", *WAN, "--", "rclone", "copy", "a", "b", env=user | {"PATH": path}, cwd=tmp_path)
    assert ended.code == 1
    assert "version 1.40; 1.53 or newer is needed" in ended.error


def test_wrong_program_of_same_name_is_reported(user, tmp_path):
    path = impostor(tmp_path / "bin", "curl", 'print("I am no such thing")')
    ended = run("wrap", *WAN, "--", "curl", "http://host/file", env=user | {"PATH": path})
    assert (ended.code, "does not tell its version" in ended.error) == (1, True)


NONSENSE = """
if "version" in sys.argv: print("rclone v1.60.0")
elif "--log-file" in sys.argv:
    log = open(sys.argv[sys.argv.index("--log-file") + 1], "w")
    log.write('no json\\n{"stats": 7}\\n{"stats": {"bytes": "many"}}\\n[]\\n{"level": 3}\\n')
    sys.exit(9)
"""


def test_nonsense_in_place_of_a_log_is_shown_and_nothing_is_recorded(drive, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("PATH", impostor(tmp_path / "bin", "rclone", NONSENSE))
    report = drive.run(drive.prepare("rclone", "copy", "a", "b", service=recommending(2)))
    assert (report.exit_code, report.result, report.records) == (9, None, ())
    assert "does not tell what it moved" in report.format_line()
    assert "no json" in capfd.readouterr().err
    assert drive.spooled() == []


CURL_NONSENSE = """
if "--version" in sys.argv: print("curl 7.88.1")
elif "--help" in sys.argv: print(" -o, --output <file>  Write to file")
else:
    sys.stderr.write('\\x1e{"exitcode": NaN, "size_download": Infinity}\\n\\x1e{"urlnum": -Infinity}\\n\\x1e[]\\n\\x1e')
"""

ARIA2_NONSENSE = """
from http.server import BaseHTTPRequestHandler, HTTPServer
class Answers(BaseHTTPRequestHandler):
    left = ['{"result": 7}', '{"result": {"numActive": "many", "numWaiting": "0"}}', '{"result": {}}', '[]', 'no json']
    def do_POST(self):
        body = self.left.pop().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
if "--version" in sys.argv: print("aria2 version 1.36.0")
elif "--help=#all" in sys.argv: print(" -d, --dir=DIR  The directory")
else:
    (path,) = [word.partition("=")[2] for word in sys.argv if word.startswith("--conf-path=")]
    (port,) = [line.partition("=")[2] for line in open(path) if line.startswith("rpc-listen-port")]
    with HTTPServer(("127.0.0.1", int(port)), Answers) as server:
        while Answers.left: server.handle_request()
"""


@pytest.mark.parametrize(("tool", "script"), [("curl", CURL_NONSENSE), ("aria2c", ARIA2_NONSENSE)])
def test_tool_with_invalid_progress_output_runs_to_its_end(drive, tmp_path, monkeypatch, tool, script):
    monkeypatch.setenv("PATH", impostor(tmp_path / "bin", tool, script))
    report = drive.run(drive.prepare(tool, "http://127.0.0.1:9/none", service=recommending(2)))
    assert (report.exit_code, report.records) == (0, ())


def test_a_killed_tool_is_a_failed_transfer_and_a_signals_exit_code(drive, slow, tmp_path):
    def kill(run_under_way):
        process = tool_process()
        if process is not None and run_under_way.measure_progress().bytes_moved > 0:
            os.kill(process.pid, signal.SIGKILL)

    line = ("aria2c", "-q", "-Z", "-d", tmp_path, *(f"{slow.url}f0{number}" for number in range(6)))
    report = drive.run(drive.prepare(*line, service=recommending(2)), kill)
    assert report.exit_code == 128 + signal.SIGKILL
    (row,) = drive.spooled()
    assert row.outcome.status is Status.FAILED
    assert 0 < row.outcome.bytes_moved < 6 * FILE_BYTES


@pytest.mark.parametrize("tool", ["rclone", "curl", "globus-url-copy"])
def test_killed_tool_is_reported_in_one_line(drive, slow, grid, tmp_path, tool):
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(1 << 33)  # sparse: it lasts until it is killed
    line = {
        "rclone": ("rclone", "copy", "--http-url", slow.url, "--max-depth", "1", ":http:", tmp_path / "to"),
        "curl": ("curl", "-s", "--output-dir", tmp_path, "--remote-name-all", f"{slow.url}f0[0-9]"),
        "globus-url-copy": ("globus-url-copy", grid.url(huge), "file:///dev/null"),
    }[tool]

    def kill(_):
        if (process := tool_process()) is not None:
            os.kill(process.pid, signal.SIGKILL)

    report = drive.run(drive.prepare(*line, service=recommending(2)), kill)
    assert (report.exit_code, report.status) == (128 + signal.SIGKILL, Status.FAILED)
    assert "exit code 137" in report.format_line()
    assert "\n" not in report.format_line()
    assert all(row.outcome.status is Status.FAILED for row in drive.spooled())


IMPOSTORS = {
    "missing": (None, "is not installed"),
    "too old": ('print("version 0.1.2")', "is version 0.1.2; "),
    "nonsense": ('print("I am no such thing")', "does not tell its version"),
    "killed": ("import os; os.kill(os.getpid(), 9)", "does not tell its version"),
}


@pytest.mark.parametrize("what", IMPOSTORS)
@pytest.mark.parametrize("mover", [each for each in list_movers() if each.is_tuned], ids=lambda mover: mover.name)
def test_unusable_tool_is_reported_in_one_line(tmp_path, mover, what):
    script, told = IMPOSTORS[what]
    folder = str(tmp_path / "none") if script is None else impostor(tmp_path / "bin", mover.programs[0], script)
    with pytest.raises(ToolUnusable) as unusable:
        find_installed(mover, mover.programs[0], {"PATH": folder})
    assert told in str(unusable.value)
    assert "\n" not in str(unusable.value)


def test_a_stop_reaches_the_tool_and_the_transfer_is_logged_as_cancelled(user, slow, tmp_path):
    names = [f"{slow.url}f0{number}" for number in range(10)]
    line = ("aria2c", "-q", "-j1", "-Z", "-d", str(tmp_path / "to"), *names)
    with start("wrap", *WAN, "--json", "--", *line, env=user) as process:
        eventually((tmp_path / "to" / "f01").exists)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert b'"status": "cancelled"' in output
    assert process.returncode != 0
    spool = Spool(tmp_path / "spool", warn=lambda _: None)
    rows = [parse_row(line) for each in spool.list_segments() for line in each.path.read_bytes().splitlines()]
    assert [row.outcome.status for row in rows] == [Status.CANCELLED]


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (("curl", "-sS", "http://[::1"), UNKNOWN),
        (("curl", "-sS", "http://h:abc/"), FAILED),
        (("aria2c", "-q", "http://[::1"), UNKNOWN),
        (("scp", "scp://[::1/x", "."), FAILED),
        (("rsync", "rsync://[x/y", "."), FAILED),
        (("globus-url-copy", "gsiftp://[::1/x", "file:///tmp/x"), FAILED),
        (("rclone", "copy", "--http-url", "http://h:abc/", ":http:", "to"), UNKNOWN),
    ],
)
def test_tool_reports_a_senseless_address_itself(user, tmp_path, words, result):
    ended = run("wrap", *WAN, "--", *words, env=user, cwd=tmp_path)
    assert ended.code != 0
    assert "internal error" not in ended.err
    assert result in ended.err.splitlines()[-1]


def test_an_aria2c_whose_agent_is_killed_does_not_stay(user, slow, tmp_path):
    line = ("aria2c", "-q", "-d", str(tmp_path / "to"), f"{slow.url}f00")
    with start("wrap", *WAN, "--", *line, env=user) as process:
        (tool,) = eventually(
            lambda: [each for each in psutil.Process(process.pid).children() if each.name() == "aria2c"]
        )
        eventually((tmp_path / "to" / "f00").exists)
        process.kill()
        process.wait()
    eventually(lambda: is_gone(tool))


def test_the_exit_code_is_the_tools_own(user, slow, tmp_path):
    line = ("curl", "--fail", "-sS", "-o", str(tmp_path / "x"), f"{slow.url}missing")
    assert run("wrap", *WAN, "--", *line, env=user).code == 22


def test_a_dry_run_prints_the_command_line_and_runs_nothing(user, slow, tmp_path):
    line = ("curl", "-o", str(tmp_path / "x"), f"{slow.url}fast/f00")
    ended = run("wrap", *WAN, "--dry-run", "--", *line, env=user)
    assert ended.code == 0
    assert "--parallel-max" in ended.out
    assert not (tmp_path / "x").exists()


def test_sizes_that_the_user_states_are_not_looked_for(user):
    line = ("wrap", *WAN, "--dry-run", "--json", "--files", "40", "--bytes", "40MB", "--", "curl", "-O")
    ended = run(*line, "http://127.0.0.1:9/none", env=user)
    assert ended.code == 0
    assert ended.document["plan"]["chunks"][0]["parameters"]["concurrency"] > 1
    assert run("wrap", *WAN, "--files", "4", "--", "curl", "-O", "http://127.0.0.1:9/none", env=user).code == 2
