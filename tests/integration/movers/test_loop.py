"""The agent's tuning loop on other people's tools, with a service that answers heartbeats and without any."""

import json
import os
import signal
from dataclasses import replace
from itertools import pairwise

import httpx

from tests.integration.movers.conftest import FILES
from tests.integration.movers.driving import WAN, recommending, tool_process
from tests.unit.agent.service import Service
from tradewind_agent.logbook import Logbook
from tradewind_agent.movers.wrapping import run_wrap
from tradewind_agent.tuning.ticks import DecidedBy

TICKING = replace(WAN, tune=True, tick_s=0.5)


def answer_to(heartbeat, concurrency):
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
    assert report.in_force.concurrency == 6
    assert any("3 → 6 files at once: the path takes more" in line for line in said)
    assert {tick.verdict.by for tick in report.timeline[:-1]} == {DecidedBy.SERVICE}
    assert report.result.files_done == FILES
    assert report.document()["timeline"][-1]["decision"]["reason"] == "the transfer has ended"


def test_without_a_service_this_host_tunes_the_tool_by_itself(drive, quick, tmp_path):
    entries = "".join(f"{quick.url}large/one\n  out={number}\n" for number in range(8))
    (tmp_path / "list").write_text(entries)
    line = ("aria2c", "-q", "-d", tmp_path / "to", "-i", tmp_path / "list")
    prepared = drive.prepare(*line, service=recommending(1), copy=TICKING)

    def stop_when_tuned(run):
        process = tool_process()
        if process is not None and run.in_force.concurrency > 1 and run.progress().bytes_moved:
            os.kill(process.pid, signal.SIGKILL)  # the rest would only take time

    report = run_wrap(prepared, on_tick=stop_when_tuned)
    assert {tick.verdict.by for tick in report.timeline} == {DecidedBy.AGENT}
    # each connection is held back: what is missed against the prediction makes it look for more of them
    assert report.in_force.concurrency > 1
    moved = [tick.heartbeat.bytes_moved for tick in report.timeline]
    assert all(before <= after for before, after in pairwise(moved))
    assert moved[-1] > 0


def test_a_tool_that_cannot_change_is_not_sampled(drive, slow, tmp_path):
    prepared = drive.prepare("curl", "-o", tmp_path / "x", f"{slow.url}f00", service=recommending(2), copy=TICKING)
    report = run_wrap(prepared)
    assert report.timeline == ()
    assert report.exit_code == 0


def test_who_wants_no_tuning_gets_none(drive, slow, tmp_path):
    line = ("aria2c", "-q", "-d", tmp_path, f"{slow.url}f00")
    prepared = drive.prepare(*line, service=recommending(2), copy=replace(TICKING, tune=False))
    assert run_wrap(prepared).timeline == ()
