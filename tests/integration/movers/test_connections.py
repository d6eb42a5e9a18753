"""Connections of real tools, looked at from outside while they run."""

import os
from dataclasses import replace

import pytest

from tests.integration.movers.conftest import FILE_BYTES
from tests.integration.movers.test_loop import TICKING, run_with, sharing
from tradewind_agent.movers.wrap import tool_connections

FILES = 6
HERE = replace(TICKING, rtt_s=2e-6)
"""Far shorter round trips than stated would be those to a middle box; those here take some 20 µs."""


def line(tool, slow, tmp_path):
    if tool == "aria2c":
        (tmp_path / "list").write_text("".join(f"{slow.url}f{number:02}\n" for number in range(FILES)))
        return ("aria2c", "-q", "-d", tmp_path / "to", "-i", tmp_path / "list")
    if tool == "curl":
        return ("curl", "-s", "--output-dir", tmp_path, "--remote-name-all", f"{slow.url}f0[0-5]")
    return ("rclone", "copy", "--http-url", slow.url, "--max-depth=1", ":http:", tmp_path / "to")


@pytest.mark.parametrize("tool", ["aria2c", "curl", "rclone"])
def test_controller_gets_path_samples_of_tool_connections(drive, slow, tmp_path, tool):
    service = sharing(3)
    run_with(service, drive, line(tool, slow, tmp_path), copy=HERE)
    beats = service.sent("heartbeats")
    seen = [beat for beat in beats if beat.get("min_rtt_s")]
    assert seen
    assert all(0 < beat["min_rtt_s"] < 1 for beat in seen)
    assert all(0 <= beat["retransmitted_bytes"] <= beat["sent_bytes"] for beat in seen)
    told = [beat["sent_bytes"] for beat in seen]
    assert told == sorted(told)
    assert 0 < told[-1] <= 1.2 * 12 * FILE_BYTES


def test_through_a_proxy_the_connections_say_nothing_of_the_path(drive, slow, tmp_path, monkeypatch):
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:9")
    service = sharing(3)
    run_with(service, drive, line("rclone", slow, tmp_path), copy=HERE)
    assert not any(beat.get("min_rtt_s") for beat in service.sent("heartbeats"))


def test_forbidden_connection_watch_is_reported_and_tool_continues(drive, slow, tmp_path, monkeypatch):
    def refused():
        raise PermissionError(1, os.strerror(1))

    monkeypatch.setattr(tool_connections, "list_established_connections", refused)  # as a sandbox answers
    service, said = sharing(3), []
    report = run_with(service, drive, line("aria2c", slow, tmp_path), copy=HERE, say=said.append)
    assert report.exit_code == 0
    assert any(each.startswith("the tool's connections cannot be watched, its throughput alone is: ") for each in said)
