"""Browsers' logs on the command line, beside others and broken ones."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.integration.agent.support.command import environment, run
from tests.records import ndjson, record
from tests.unit.connections.hars import entry, har


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    logs = tmp_path / "logs"
    logs.mkdir()
    whole = json.dumps(har(entry(0, connect=20, version="h2", size=60_000), entry(5, size=10)))
    (logs / "page.har").write_text(whole)
    (logs / "cut.har").write_text(whole[:-50])
    (logs / "transfers.ndjson").write_bytes(ndjson([record(0)]))
    return logs


def test_a_folder_of_all_kinds_is_reported_log_by_log(folder: Path, tmp_path: Path) -> None:
    done = run("logs", "upload", str(folder), "--dry-run", "--json", env=environment(tmp_path))
    assert done.code == 1  # one of them is cut off
    told = done.document
    assert [each["imported"] for each in told["files"]] == [1]
    cut, page = told["hars"]
    assert "is cut off" in cut["failure"]
    assert [each["objects"] for each in page["pages"]] == [2]


@pytest.mark.parametrize("second", ["page.har", "transfers.ndjson"])
def test_stored_logs_are_reported_when_a_later_one_is_refused(folder, logged_in, service, second) -> None:
    faults = [(200, {}, {"tool": "a tool", "pages": []}), (403, {})]
    logs = [str(folder / name) for name in ("page.har", second)]
    service.faults += faults
    uploaded = run("logs", "upload", *logs, env=logged_in)
    assert (uploaded.code, uploaded.out) == (1, f"{logs[0]}: har, 0 pages\n0 pages kept\n")
    assert uploaded.error.startswith("tradewind: the service refused (403)")
    service.faults += faults
    document = run("logs", "upload", *logs, "--json", env=logged_in).document
    assert document["hars"] == [{"file": logs[0], "failure": None, "tool": "a tool", "pages": []}]
    assert document["error"].startswith("the service refused (403)")
    assert (document["exit_code"], document["dry_run"]) == (1, False)


def test_a_page_is_analysed_without_a_service(folder: Path, tmp_path: Path) -> None:
    env = environment(tmp_path)
    done = run("connections", "analyse", str(folder / "page.har"), "--rtt", "60ms", env=env)
    assert done.code == 0, done.err
    assert "2 objects, 60 kB, over 2 connections" in done.out
    assert "Begin with a window of" in done.out
    refused = run("connections", "analyse", str(folder / "cut.har"), env=env)
    assert (refused.code, refused.error) == (
        2,
        f"tradewind: {folder / 'cut.har'}: is cut off: it ends before its JSON does; save it again",
    )


def test_a_named_pipe_is_read_from_its_first_byte(folder: Path, tmp_path: Path) -> None:
    rows = ndjson([record(place) for place in range(300)])  # more than one look at the beginning holds
    page = (folder / "page.har").read_bytes()
    pipes = {"rows": rows, "page": page}
    with ThreadPoolExecutor(len(pipes)) as writers:
        for name, content in pipes.items():
            os.mkfifo(tmp_path / name)
            writers.submit(_write, tmp_path / name, content)
        names = [str(tmp_path / name) for name in pipes]
        done = run("logs", "upload", *names, "--dry-run", "--json", env=environment(tmp_path))
    assert done.code == 0, done.err
    assert [(each["imported"], each["failure"]) for each in done.document["files"]] == [(300, None)]
    assert [each["objects"] for each in done.document["hars"][0]["pages"]] == [2]


def _write(pipe: Path, content: bytes) -> None:
    with pipe.open("wb") as opened:
        opened.write(content)


@pytest.mark.parametrize("option", ["--source", "--destination", "--mover", "--network"])
def test_options_of_transfer_logs_are_refused_for_browser_logs(folder: Path, tmp_path: Path, option: str) -> None:
    refused = run("logs", "upload", str(folder / "page.har"), option, "rclone", env=environment(tmp_path))
    assert (refused.code, f"{option}: is of logs of transfers" in refused.error) == (2, True)


def test_a_cache_of_ones_own_is_refused_for_logs_of_transfers(folder: Path, tmp_path: Path) -> None:
    env = environment(tmp_path)
    refused = run("logs", "upload", str(folder / "transfers.ndjson"), "--proxy", "squid", env=env)
    assert (refused.code, "--proxy: is of a browser's logs" in refused.error) == (2, True)
    both = run("logs", "upload", str(folder), "--proxy", "squid", "--network", "wan", "--dry-run", env=env)
    assert "1 page would be kept" in both.out


def test_a_log_in_utf_16_is_reported_so_and_no_line_of_one_is_repeated(folder: Path, tmp_path: Path) -> None:
    env, other = environment(tmp_path), tmp_path / "other.har"
    other.write_text((folder / "page.har").read_text(), encoding="utf-16")
    refused = run("connections", "analyse", str(other), env=env)
    assert refused.error == f"tradewind: {other}: is not JSON in UTF-8 but UTF-16; save it as UTF-8"
    csv = run("logs", "upload", "--dry-run", "--format", "csv", str(folder / "page.har"), env=env)
    assert "is JSON, not CSV" in csv.out + csv.err
    assert "example" not in csv.out + csv.err
