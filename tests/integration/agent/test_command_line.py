import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.endings import Program
from tests.integration.agent.support.command import COMMAND, run, start
from tests.integration.agent.support.faulty_service import faulty_service
from tests.unit.agent.records import lines


def test_the_program_explains_itself(env):
    outcome = run("--help", env=env)
    assert outcome.code == 0
    assert "serve-files" in outcome.out
    assert outcome.err == ""


def test_wrong_usage_is_one_line_and_exit_code_2(env):
    outcome = run("copy", "http://host/", "/there", "--sla", "fastest", env=env)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "unknown kind 'fastest'" in outcome.error


def test_a_failure_is_one_line_and_exit_code_1(env, service):
    service.faults.append((401, {}))
    outcome = run("login", service.url, "--key", "wrong", env=env)
    assert outcome.code == 1
    assert "refused (401)" in outcome.error
    assert run("logs", "upload", "-", env=env, stdin=lines(1)[0]).error.endswith("TRADEWIND_URL and TRADEWIND_KEY")


def test_a_login_is_stored_and_used(env, service, tmp_path):
    outcome = run("login", service.url, "--key", "-", "--json", env=env, stdin=b"secret\n")
    assert outcome.document == {
        "url": service.url,
        "file": str(tmp_path / "home" / ".config" / "tradewind" / "service.json"),
        "checked": True,
    }
    assert "secret" not in outcome.out + outcome.err
    uploaded = run("logs", "upload", "-", "--json", env=env, stdin=b"".join(lines(3)))
    assert uploaded.document["accepted"] == 3


def test_a_login_to_a_service_that_is_unreachable_leaves_the_one_before(env, service):
    with faulty_service() as gone:
        url = gone.url
    assert run("login", service.url, "--key", "k", env=env).code == 0
    outcome = run("login", url, "--key", "other", env=env)
    assert outcome.code == 1
    assert "--unchecked" in outcome.error
    assert run("logs", "upload", "-", env=env, stdin=b"".join(lines(1))).code == 0


def test_a_login_to_a_service_that_is_unreachable_is_stored_unchecked_if_requested(env):
    with faulty_service() as gone:
        url = gone.url
    outcome = run("login", url, "--key", "k", "--unchecked", "--json", env=env)
    assert outcome.code == 0
    assert outcome.document["checked"] is False
    assert "kept unchecked" in outcome.error


def test_copy_moves_files_and_ends_with_one_line(origin, env, tmp_path):
    outcome = run("copy", origin.url, str(tmp_path / "copy"), env=env)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("\n") == 1
    assert outcome.out.startswith("moved 150 kB in 3 files")
    assert "spooled until `tradewind login`" in outcome.out
    assert outcome.err == ""
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["file0", "file1", "file2"]


def test_copy_reports_everything_as_json_and_uploads_its_log(origin, logged_in, service, tmp_path):
    setting = ("--concurrency", "2", "--parallelism", "1", "--pipelining", "3", "--io-block", "64KiB")
    names = ("--source", "alpha", "--destination", "beta", "--network", "wan", "--rtt", "60ms", "--bandwidth", "1Gbps")
    outcome = run("copy", origin.url, str(tmp_path / "copy"), *setting, *names, "--json", env=logged_in)
    assert outcome.code == 0, outcome.err
    document = outcome.document
    assert document["log"].startswith("uploaded, but the service refused")  # it has logs, but no transfers
    assert document["parameters"] == {"concurrency": 2, "parallelism": 1, "pipelining": 3, "io_block_bytes": 65536}
    (row,) = (json.loads(row) for row in service.rows)
    assert (row["source"], row["destination"], row["network"]) == ("alpha", "beta", "wan")
    assert row["path"] == {"bandwidth_bps": 1e9, "rtt_s": 0.06}
    assert row["energy"][0]["host"] == "destination"


def test_one_file_is_written_in_the_singular(origin, env, tmp_path):
    planned = run("copy", f"{origin.url}file0", str(tmp_path / "copy"), "--dry-run", env=env)
    assert planned.out.startswith("download of 1 file, 50 kB: ")
    done = run("copy", f"{origin.url}file0", str(tmp_path / "copy"), env=env)
    assert done.out.startswith("moved 50 kB in 1 file in ")


def test_a_dry_run_moves_nothing_and_shows_the_plan(origin, env, tmp_path):
    outcome = run("copy", origin.url, str(tmp_path / "copy"), "--dry-run", "--json", "--sla", "min_energy", env=env)
    assert outcome.code == 0
    assert outcome.document["file_count"] == 3
    assert outcome.document["total_bytes"] == 150_000
    assert outcome.document["plan"]["source"] == "heuristic"
    assert not (tmp_path / "copy").exists()
    text = run("copy", origin.url, str(tmp_path / "copy"), "--dry-run", env=env).out
    assert "closed-form rule MaxThr for max_throughput" in text


def test_a_copy_that_fails_for_a_file_ends_with_1_and_says_which(origin, env, tmp_path):
    outcome = run("copy", f"{origin.url}absent", str(tmp_path / "copy"), "--json", env=env)
    assert outcome.code == 1
    assert outcome.document["files_failed"] == 1
    assert outcome.document["failures"][0]["file"].endswith("/absent")


def test_a_recommendation_without_service_comes_from_the_rules_and_says_so(env):
    outcome = run("recommend", "alpha", "beta", "--bytes", "10GB", "--files", "1000", "--json", env=env)
    assert outcome.document["source"] == "heuristic"
    assert "no service is configured" in outcome.document["rationale"]
    assert set(outcome.document["flags"]) == {"rclone", "aria2", "curl", "globus-url-copy", "aws", "s5cmd", "gcloud"}
    flags = run("recommend", "alpha", "beta", "--bytes", "10GB", "--flags", "rclone", env=env)
    assert flags.out.startswith("--transfers ")


def test_serve_files_reports_its_address_serves_and_stops_on_request(env, tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    with start("serve-files", str(tmp_path), "--port", "0", "--json", env=env) as server:
        address = json.loads(server.stdout.readline())["url"]
        outcome = run("copy", f"{address}file", str(tmp_path / "copy"), env=env)
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=30)
    assert outcome.code == 0, outcome.err
    assert server.returncode == 0
    assert (tmp_path / "copy").read_bytes() == b"content"


def test_a_port_that_is_taken_is_reported(env, origin, tmp_path):
    outcome = run("serve-files", str(tmp_path), "--port", str(origin.port), env=env)
    assert outcome.code == 1
    assert "choose another --port" in outcome.error


def test_the_meter_reports_method_and_quality(env):
    outcome = run("meter", "--duration", "300ms", "--interval", "100ms", "--json", env=env)
    assert outcome.code == 0
    assert outcome.document["total_j"] > 0
    assert {"method", "quality", "refusals", "usage"} <= set(outcome.document)


def test_the_meter_reports_the_power_when_idle(env):
    outcome = run("meter", "--duration", "200ms", "--power-profile", "35W,90W", env=env)
    assert outcome.code == 0
    assert re.search(r", \d+\.\d\d W on average, \d+\.\d\d W when idle\n$", outcome.out)


def test_the_doctor_says_what_to_do(env, origin, tmp_path, service):
    run("copy", origin.url, str(tmp_path / "copy"), env=env)
    alone = run("doctor", "--json", env=env)
    assert alone.code == 0
    subjects = {finding["subject"]: finding for finding in alone.document["findings"]}
    assert "tradewind login" in subjects["service"]["advice"]
    assert {"receive buffer", "congestion control", "meter", "spool disk"} <= set(subjects)
    assert subjects["spool"]["told"].startswith("1 segment to upload, ")
    run("login", service.url, "--key", "k", env=env)
    key_file = tmp_path / "home" / ".config" / "tradewind" / "service.json"
    key_file.chmod(0o644)
    service.faults.extend([(503, {}), (503, {})])
    outcome = run("doctor", env=env)
    assert outcome.code == 1
    assert f"chmod 600 {key_file}" in outcome.out
    assert "BAD  service" in outcome.out
    assert outcome.err == ""


def test_output_that_no_one_reads_ends_quietly(env):
    command = [*COMMAND, "recommend", "a", "b", "--bytes", "1GB"]
    with Program(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_command_ends_when_all_is_done_that_was_left_for_its_end(env):
    code = (
        "import atexit, sys, threading; from tradewind_agent.cli import app, main; over = threading.Event(); "
        "run = app.run; app.run = lambda words: (run(words), over.set())[0]; "
        "atexit.register(print, 'at the end'); "
        "threading.Thread(target=lambda: over.wait() and print('beside it')).start(); "
        "sys.argv[1:] = ['--version']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == ["beside it", "at the end"]
    assert done.stderr == ""


def test_output_that_cannot_be_written_is_a_failure(env):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, "--version"], env=env, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode != 0
    assert b"No space left" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_the_shell_has_closed_cost_no_copy(env, tmp_path, closed: str):
    (tmp_path / "from").write_bytes(b"bytes")
    copy = ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, "copy", "--base-power", "0s"]
    done = subprocess.run([*copy, tmp_path / "from", tmp_path / "to"], env=env, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "to").read_bytes() == b"bytes"


def test_the_command_line_starts_without_loading_what_it_does_not_need(env):
    code = (
        "import sys; from tradewind_agent.cli.app import build; build(); "
        "print({'httpx', 'pydantic', 'rich', 'psutil', 'zstandard', 'asyncio'}.intersection(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    assert out.strip() == "set()"


def test_a_copy_requests_its_listing_before_it_loads_what_comes_later(origin, env, tmp_path):
    code = (
        "import sys; from tradewind_agent.copy import listing; "
        "from tradewind_agent.cli import app, quick_start; "
        "quick_start._load = lambda modules: None; real = listing.list_files; "
        "late = {'httpx', 'pydantic', 'rich', 'zstandard', 'tradewind.wire', 'tradewind_agent.engine.engine'}; "
        "listing.list_files = lambda *places, **asked: "
        "print(sorted(late.intersection(sys.modules))) or real(*places, **asked); "
        f"sys.exit(app.run(['copy', {origin.url!r}, {str(tmp_path / 'copy')!r}, '--dry-run']))"
    )
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[0] == "[]"


def test_a_copy_without_a_service_never_loads_the_wire_models(origin, env, tmp_path):
    code = (
        "import sys; from tradewind_agent.cli.app import run; "
        f"code = run(['copy', {origin.url!r}, {str(tmp_path / 'copy')!r}, '--json']); "
        "print(code, sorted({'pydantic', 'tradewind.wire', 'httpx'}.intersection(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_a_copy_that_queries_a_service_loads_no_other_command_and_no_authorities(origin, logged_in, tmp_path):
    code = (
        "import ssl, sys; from tradewind_agent.cli import main; from tradewind_agent.engine import download; "
        "ssl.SSLContext.load_verify_locations = lambda *given, **named: print('authorities'); "
        "idle = {'rich', 'tradewind_agent.cli.commands.logs', 'tradewind_agent.cli.commands.meter'}; "
        "real = download.FileDownload.store; "
        "download.FileDownload.store = lambda *given: print(sorted(idle.intersection(sys.modules))) or real(*given); "
        f"sys.argv[1:] = ['copy', {origin.url!r}, {str(tmp_path / 'copy')!r}]; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], env=logged_in, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "[]"
    assert "log uploaded" in done.stdout


def test_copy_of_a_manifest_loads_nothing_before_its_first_request_that_only_other_copies_need(origin, env, tmp_path):
    manifest = tmp_path / "list"
    manifest.write_text("file0\nfile1\n")
    code = (
        "import sys; from tradewind_agent.cli import main; from tradewind_agent.copy import run; "
        "idle = ['copy.relays', 'copy.removal', 'copy.reporting.report', 'engine.remote.html_index', "
        "'engine.remote.xml_index', 'engine.relay.relay_engine']; real = run.move; "
        "run.move = lambda *given, **named: "
        "print([each for each in idle if f'tradewind_agent.{each}' in sys.modules]) or real(*given, **named); "
        f"sys.argv[1:] = ['copy', {origin.url!r}, {str(tmp_path / 'copy')!r}, '--manifest', {str(manifest)!r}]; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "[]"


def test_without_a_terminal_a_copy_reports_how_far_it_is_in_plain_lines(origin, env, tmp_path):
    often = env | {"TRADEWIND_PROGRESS": "0s"}
    outcome = run("copy", origin.url, str(tmp_path / "copy"), env=often)
    assert outcome.code == 0
    assert "tradewind: 150 kB of 150 kB (100 %), 3 of 3 files, " in outcome.err
    assert "\r" not in outcome.err
    assert "\x1b" not in outcome.err
    assert outcome.out.count("\n") == 1
    for silent in ("--json", "--quiet"):
        assert run("copy", origin.url, str(tmp_path / silent), silent, env=often).err == ""


def test_a_wrong_interval_of_progress_is_wrong_usage(origin, env, tmp_path):
    outcome = run("copy", origin.url, str(tmp_path / "copy"), env=env | {"TRADEWIND_PROGRESS": "often"})
    assert outcome.code == 2
    assert "TRADEWIND_PROGRESS" in outcome.error


def test_serve_files_reports_what_it_has_served(env, tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    often = env | {"TRADEWIND_PROGRESS": "0s"}
    with start("serve-files", str(tmp_path), "--port", "0", env=often) as server:
        address = server.stdout.readline().decode().split(" at ")[1].strip()
        assert run("copy", f"{address}file", str(tmp_path / "copy"), env=env).code == 0
        told = server.stderr.readline().decode()
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=30)
    assert told.startswith("tradewind: ")
    assert "received, " in told


def test_on_a_terminal_a_bar_is_shown_and_the_result_stays_alone(origin, env, tmp_path):
    controller, terminal = pty.openpty()
    try:
        command = [*COMMAND, "copy", origin.url, str(tmp_path / "copy")]
        with Program(command, env=env | {"TERM": "xterm"}, stdout=subprocess.PIPE, stderr=terminal) as process:
            out = process.stdout.read().decode()
        shown = os.read(controller, 65536).decode()
    finally:
        os.close(terminal)
        os.close(controller)
    assert process.returncode == 0
    assert "3/3 files" in shown
    assert out.startswith("moved 150 kB in 3 files")
    assert out.count("\n") == 1


def test_devices_and_radios_are_listed_without_a_service_too(env):
    told = run("devices", env=env)
    assert told.code == 0, told.err
    assert re.search(r"^galaxy-s5 +Samsung Galaxy S5 +wifi, lte +shipped$", told.out, re.MULTILINE)
    assert re.search(r"^lte +LTE", told.out, re.MULTILINE)
    document = run("devices", "--json", env=env).document
    assert {"wifi", "lte", "5g"} == {radio["name"] for radio in document["radios"]}


GROUPS = [("logs", "upload, watch, report"), ("transport", "install, status, remove")]


@pytest.mark.parametrize(("group", "told"), GROUPS)
def test_a_group_without_a_command_reports_which_it_has(env, group, told):
    refused = run(group, env=env)
    assert (refused.code, refused.error) == (2, f"tradewind: Missing command: {told}")


def test_manifest_comes_by_standard_input(origin, env, tmp_path):
    outcome = run("copy", origin.url, str(tmp_path / "copy"), "--manifest", "-", env=env, stdin=b"file0\nfile2\n")
    assert outcome.code == 0, outcome.err
    assert {path.name for path in (tmp_path / "copy").iterdir()} == {"file0", "file2"}


def test_file_in_place_of_the_folder_of_a_manifest_is_named(origin, env, tmp_path):
    outcome = run("copy", f"{origin.url}file0", f"{tmp_path}/copy", "--manifest", "-", env=env, stdin=b"file0\n")
    assert outcome.code == 1
    assert "file0 is a file; name the folder that the paths of the manifest are in" in outcome.error


def test_manifest_that_is_not_there_is_wrong_usage(origin, env, tmp_path):
    outcome = run("copy", origin.url, f"{tmp_path}/copy", "--manifest", str(tmp_path / "none"), env=env)
    assert outcome.code == 2
    assert "is not a file; - reads standard input" in outcome.err
