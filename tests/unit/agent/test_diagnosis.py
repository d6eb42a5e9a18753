from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.unit.agent.records import lines, record
from tests.unit.agent.service.fake_service import answering, problem
from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind.wire.records import WireRecord
from tradewind_agent.config import Service, store_service
from tradewind_agent.diagnosis import (
    Health,
    check_reachability,
    examine_config,
    examine_disk,
    examine_meter,
    examine_service,
    examine_spool,
    examine_tcp,
)
from tradewind_agent.history.spool import Spool
from tradewind_agent.history.transfer_spool import TransferSpool
from tradewind_agent.meters import CpuModelMeter, MeterChoice, build_assumed_profile
from tradewind_agent.service.retries import NO_RETRIES

DATE = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
OK = httpx.Response(200, json={"status": "ok"}, headers={"Date": "Sun, 01 Mar 2026 12:00:00 GMT"})
SERVICE = Service("http://service.test", "key", "environment")


def by_subject(findings):
    return {finding.subject: finding for finding in findings}


def examine(*answers, skew_s=0.0):
    service = answering(*answers)
    with service.client(NO_RETRIES) as client:
        return by_subject(check_reachability(client, SERVICE, lambda: DATE + timedelta(seconds=skew_s)))


def test_a_service_that_is_well_is_reported_with_its_scopes():
    found = examine(OK, httpx.Response(200, json=[]), problem(422), problem(403), problem(403))
    assert {finding.health for finding in found.values()} == {Health.GOOD}
    assert found["scopes"].text == "agent"


def test_a_key_without_the_scope_for_logs_is_bad():
    found = examine(OK, httpx.Response(200, json=[]), problem(403), problem(403), httpx.Response(200, json=[]))
    assert found["scopes"].health is Health.BAD
    assert "operator" in found["scopes"].text


def test_a_service_that_is_unreachable_says_where_its_address_is_from():
    found = examine(httpx.ConnectError("refused"))
    assert found["service"].health is Health.BAD
    assert "environment" in found["service"].advice


def test_a_refused_key_is_bad():
    found = examine(OK, problem(401))
    assert found["key"].health is Health.BAD
    assert "tradewind login" in found["key"].advice


@pytest.mark.parametrize(
    ("skew_s", "health"), [(0.5, Health.GOOD), (5.4, Health.GOOD), (20, Health.BAD), (-20, Health.BAD)]
)
def test_a_clock_that_is_off_is_reported(skew_s, health):
    found = examine(OK, problem(401), skew_s=skew_s)
    assert found["clock"].health is health


def test_missing_service_is_reported_with_the_command_to_log_in(tmp_path):
    (finding,) = examine_service({"HOME": str(tmp_path)}, lambda: DATE)
    assert finding.health is Health.NOTE
    assert "tradewind login" in finding.advice


def test_a_key_that_others_can_read_is_bad(tmp_path):
    environ = {"HOME": str(tmp_path)}
    path = store_service(environ, url="http://service.test", key="k")
    assert examine_config(environ)[0].health is Health.GOOD
    path.chmod(0o640)
    assert examine_config(environ)[0].health is Health.BAD


def test_small_buffers_come_with_the_command_that_raises_them(tmp_path):
    (tmp_path / "tcp_rmem").write_text("4096\t131072\t6291456\n")
    (tmp_path / "tcp_wmem").write_text("4096\t16384\t33554432\n")
    (tmp_path / "tcp_congestion_control").write_text("cubic\n")
    (tmp_path / "tcp_available_congestion_control").write_text("reno cubic\n")
    found = by_subject(examine_tcp(tmp_path))
    assert "sysctl -w net.ipv4.tcp_rmem" in found["receive buffer"].advice
    assert found["send buffer"].health is Health.GOOD
    assert found["congestion control"].text == "cubic (available: reno, cubic)"


def test_a_kernel_that_does_not_show_is_no_failure(tmp_path):
    assert {finding.health for finding in examine_tcp(tmp_path)} == {Health.NOTE}


def test_ended_transfers_that_the_service_does_not_know_of_are_counted(tmp_path):
    spool = Spool(tmp_path / "spool", warn=lambda _: None)
    ended = WireRecord.from_domain(record(1))
    TransferSpool(spool).seal(ended.id, [ended], [])
    (found,) = examine_spool(spool)
    assert found.health is Health.NOTE
    assert "1 ended transfer to report" in str(found)


def test_a_spool_with_losses_says_so(tmp_path):
    size = len(lines(1)[0])
    spool = Spool(tmp_path / "spool", warn=lambda _: None, max_bytes=size)
    assert [finding.health for finding in examine_spool(spool)] == [Health.GOOD]
    for number in (1, 2):
        spool.append(lines(1, number))
    found = by_subject(examine_spool(spool))
    assert found["spool"].health is Health.NOTE
    assert found["lost logs"].health is Health.BAD


def test_samples_that_the_service_refused_are_reported(tmp_path):
    spool = Spool(tmp_path / "spool", warn=pytest.fail)
    folder = tmp_path / "spool" / "transfers"
    folder.mkdir(parents=True)
    (folder / "one.refused").write_text("{}\n")
    found = by_subject(examine_spool(spool))
    assert found["refused samples"].health is Health.BAD
    assert "1 transfer " in found["refused samples"].text


def test_a_model_meter_says_why_there_is_nothing_better():
    choice = MeterChoice(CpuModelMeter(build_assumed_profile(4)), ((EnergyMethod.RAPL, "no zones"),))
    (finding,) = examine_meter(choice)
    assert finding.health is Health.NOTE
    assert "no rapl: no zones" in finding.advice
    assert str(EnergyQuality.ASSUMED) in finding.text


def test_a_folder_that_is_not_there_yet_is_judged_by_the_one_above(tmp_path):
    (finding,) = examine_disk({"spool disk": tmp_path / "a" / "b"})
    assert str(tmp_path) in finding.text
