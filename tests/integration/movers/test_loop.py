"""The agent's tuning loop on other people's tools, with a service that answers heartbeats and without any."""

import json
import os
import signal
from dataclasses import replace
from itertools import pairwise

import httpx
import pytest

from tests.integration.movers.conftest import FILES
from tests.integration.movers.driving import WAN, recommending, tool_process
from tests.unit.agent.service.fake_service import Service
from tradewind_agent.errors import ToolUnusable
from tradewind_agent.movers.wrap.run import run_wrap
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.tuning.ticks import DecidedBy

TICKING = replace(WAN, tune=True, tick_s=0.5)


def answer_to(heartbeat, concurrency, share=None):
    setting = {"concurrency": concurrency, "parallelism": 1, "pipelining": 1}
    return {
        "sequence": heartbeat["sequence"],
        "parameters": setting,
        "chunks": [{"chunk": "whole", "parameters": setting}],
        "changed": True,
        "kind": "probe",
        "reason": "the path takes more",
        "sla_bank": 0.0,
        "granted": True,
        "journalled_sequence": heartbeat["sequence"],
        "next_heartbeat_s": 1.0,
        **({} if share is None else {"share": {"concurrency": share}}),
    }


class TuningService(Service):
    """Recommends two files at once, grants three, and asks for six when bytes have moved."""

    def handle(self, request):
        path = request.url.path
        if path.endswith("/heartbeats"):
            self.requests.append(request)
            heartbeat = json.loads(request.content)
            return httpx.Response(200, json=answer_to(heartbeat, 6 if heartbeat["bytes_moved"] else 3))
        return super().handle(request)


class SharingService(Service):
    """Recommends four files at once and grants so many; ``cut`` of them once bytes have moved."""

    granted, cut = 3, 3

    def handle(self, request):
        if not request.url.path.endswith("/heartbeats"):
            return super().handle(request)
        self.requests.append(request)
        heartbeat = json.loads(request.content)
        return httpx.Response(200, json=answer_to(heartbeat, 4, self.cut if heartbeat["bytes_moved"] else self.granted))

    def sent(self, call):
        return [json.loads(each.content) for each in self.requests if each.url.path.endswith(f"/{call}")]


def sharing(granted, cut=None):
    service = SharingService(recommending(4, mean_bps=96_000).answers)
    service.granted, service.cut = granted, granted if cut is None else cut
    return service


def run_with(service, drive, line, *, copy=TICKING, say=lambda _: None, **more):
    prepared = drive.prepare(*line, service=service, copy=copy, **more)
    with service.client() as client:
        return run_wrap(prepared, client=client, logbook=Logbook(spool=drive.spool, client=client), say=say)


def aria2(slow, tmp_path):
    (tmp_path / "list").write_text("".join(f"{slow.url}f{number:02}\n" for number in range(FILES)))
    return ("aria2c", "-q", "-d", tmp_path / "to", "-i", tmp_path / "list")


def test_a_tool_begins_with_the_share_that_is_granted_and_follows_the_service(drive, slow, tmp_path):
    service = TuningService(recommending(2).answers)
    prepared = drive.prepare(*aria2(slow, tmp_path), service=service, copy=TICKING)
    said = []
    with service.client() as client:
        report = run_wrap(prepared, client=client, logbook=Logbook(spool=drive.spool, client=client), say=said.append)
    beats = [json.loads(each.content) for each in service.requests if each.url.path.endswith("/heartbeats")]
    assert "-j3" in report.commands[0].words
    assert [beat["sequence"] for beat in beats] == list(range(len(beats)))
    assert (beats[0]["bytes_moved"], beats[0]["enquiry"]["mover"]) == (0, "aria2")
    assert beats[0]["remaining_files"] == FILES
    assert report.current_parameters.concurrency == 6
    assert any("3 → 6 files at once: the path takes more" in line for line in said)
    assert {tick.verdict.by for tick in report.timeline[:-1]} == {DecidedBy.SERVICE}
    assert report.result.files_done == FILES
    assert report.build_document()["timeline"][-1]["decision"]["reason"] == "the transfer has ended"


def test_without_a_service_this_host_tunes_the_tool_by_itself(drive, quick, tmp_path):
    entries = "".join(f"{quick.url}large/one\n  out={number}\n" for number in range(8))
    (tmp_path / "list").write_text(entries)
    line = ("aria2c", "-q", "-d", tmp_path / "to", "-i", tmp_path / "list")
    prepared = drive.prepare(*line, service=recommending(1), copy=TICKING)

    def stop_when_tuned(run):
        process = tool_process()
        if process is not None and run.current_parameters.concurrency > 1 and run.measure_progress().bytes_moved:
            os.kill(process.pid, signal.SIGKILL)  # the rest would only take time

    report = run_wrap(prepared, on_tick=stop_when_tuned)
    assert {tick.verdict.by for tick in report.timeline} == {DecidedBy.AGENT}
    # each connection is held back: what is missed against the prediction makes it look for more of them
    assert report.current_parameters.concurrency > 1
    moved = [tick.sample.bytes_moved for tick in report.timeline]
    assert all(before <= after for before, after in pairwise(moved))
    assert moved[-1] > 0


def test_a_tool_that_cannot_change_is_not_sampled(drive, slow, tmp_path):
    prepared = drive.prepare("curl", "-o", tmp_path / "x", f"{slow.url}f00", service=recommending(2), copy=TICKING)
    report = run_wrap(prepared)
    assert report.timeline == ()
    assert report.exit_code == 0


def test_tuning_can_be_switched_off(drive, slow, tmp_path):
    line = ("aria2c", "-q", "-d", tmp_path, f"{slow.url}f00")
    prepared = drive.prepare(*line, service=recommending(2), copy=replace(TICKING, tune=False))
    assert run_wrap(prepared).timeline == ()


def test_tool_with_unknown_files_claims_no_share_and_reports_it(drive, tmp_path):
    service = sharing(2)
    report = run_with(service, drive, ("curl", "-s", "-o", tmp_path / "x", "http://127.0.0.1:9/none"))
    assert any("sizes are unknown" in note and "no share" in note for note in report.notes)
    assert service.sent("heartbeats") == []


def test_a_tool_that_cannot_change_begins_with_its_share_too(drive, slow, tmp_path):
    service, said = sharing(2, cut=1), []
    once = ("--dump-header", tmp_path / "headers")
    line = ("curl", "-s", *once, "--output-dir", tmp_path, "--remote-name-all", f"{slow.url}f0[0-3]")
    report = run_with(service, drive, line, say=said.append)
    assert "--parallel-max 2" in " ".join(report.commands[0].words)
    assert service.sent("heartbeats")[0]["wanted"]["concurrency"] == 4
    assert [line for line in said if "the share was cut to 1 stream, which this tool cannot follow" in line]
    assert {each["parameters"]["concurrency"] for each in service.sent("complete")[0]["records"]} == {2}


def test_a_cut_of_the_share_reaches_a_tool_that_is_not_to_be_tuned(drive, slow, tmp_path):
    service = sharing(4, cut=1)
    report = run_with(service, drive, aria2(slow, tmp_path), copy=replace(TICKING, tune=False))
    assert report.current_parameters.concurrency == 1
    assert "chunks" not in {key for beat in service.sent("heartbeats") for key in beat if beat[key]}


def test_rclone_is_split_so_that_a_cut_can_reach_it(drive, slow, tmp_path):
    many = tmp_path / "many"
    many.mkdir()
    for number in range(64):
        (many / f"file {number}").write_bytes(bytes(1000))
    line = ("rclone", "copy", many, tmp_path / "to", "--bwlimit", "6k")
    report = run_with(sharing(4, cut=1), drive, line, copy=replace(TICKING, tune=False), round_s=1.0)
    files_at_once = [command.words[command.words.index("--transfers") + 1] for command in report.commands]
    assert list(dict.fromkeys(files_at_once)) == ["4", "1"]  # in how many rounds depends on how busy the host is


def test_tool_flags_win_over_share_and_are_reported(drive, slow, tmp_path):
    said = []
    line = ("aria2c", "-j6", *aria2(slow, tmp_path)[1:])
    report = run_with(sharing(2), drive, line, say=said.append)
    assert report.current_parameters.concurrency == 6
    assert "the service grants 2 files at once; the tool's own flags set 6, and win" in said


def test_a_run_with_nothing_to_log_gives_its_share_back(drive, files, slow, tmp_path):
    service = sharing(2)
    line = ("rclone", "copy", files / "large", tmp_path / "to")
    assert run_with(service, drive, line).records
    sent = len(service.sent("complete"))
    again = run_with(service, drive, line)
    assert (again.records, again.exit_code) == ((), 0)
    (completion,) = service.sent("complete")[sent:]
    assert completion["status"] == "succeeded"
    assert not completion.get("records")


def test_a_share_is_given_back_where_the_tool_cannot_be_started(drive, slow, tmp_path):
    service = sharing(2)
    prepared = drive.prepare(*aria2(slow, tmp_path), service=service, copy=TICKING)
    gone = replace(prepared.task.line, program=str(tmp_path / "gone"))
    prepared.task.line = gone
    with service.client() as client, pytest.raises(ToolUnusable):
        run_wrap(prepared, client=client, logbook=Logbook(spool=drive.spool, client=client))
    (completion,) = service.sent("complete")
    assert completion["status"] == "failed"
