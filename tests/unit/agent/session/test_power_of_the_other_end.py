"""Power of the other end while a copy runs: asked between ticks, told in heartbeats, counted by a lone controller."""

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest

from tests.unit.agent.session.tuning_story import BINS, FILE_BYTES, FILES, NOW, REQUEST, TRANSFER
from tradewind.energy.measured import EnergyMethod, EnergyQuality, Host
from tradewind.path import Path
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.transfer import ResourceUsage
from tradewind_agent.engine.path_sample import PathSample
from tradewind_agent.engine.progress import ChunkSnapshot, Snapshot
from tradewind_agent.meters import LiveSample
from tradewind_agent.session.other_end_power import MOST_SILENT_POLLS, STALE_POLLS, BothEndsMeter, OtherEndPower
from tradewind_agent.session.planning import plan_by_rules
from tradewind_agent.session.server_energy import ServerEnergyReport
from tradewind_agent.tuning.local_controller import LocalController, build_basis
from tradewind_agent.tuning.sampling import Sampling

WATTS = 20.0


def report(duration_s: float, total_j: float) -> ServerEnergyReport:
    return ServerEnergyReport(
        transfer_id=UUID(int=7),
        duration_s=duration_s,
        moved_bytes=1,
        total_j=total_j,
        method=EnergyMethod.CPU_MODEL,
        quality=EnergyQuality.ASSUMED,
        cpu_s=1.0,
        logical_cpus=4,
    )


class Server:
    """Answers with ``reports`` in turn; then the copy is over."""

    host = Host.SOURCE

    def __init__(self, *reports: ServerEnergyReport | Exception | None) -> None:
        self.reports = list(reports)

    async def report_so_far(self) -> ServerEnergyReport | None:
        answer = self.reports.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def watched(server: Server, *, meters: bool = True) -> tuple[OtherEndPower, list[float | None]]:
    """The power after each question, asked until the server has no more answers."""
    seen: list[float | None] = []
    power: OtherEndPower

    async def pause(_: float) -> None:
        seen.append(None if power.latest is None else power.latest.power_w)
        if not server.reports:
            raise asyncio.CancelledError

    async def answered() -> bool:
        return meters

    power = OtherEndPower(server, pause)

    async def main() -> None:
        try:
            await power.run(answered())
        except asyncio.CancelledError:
            return

    asyncio.run(main())
    return power, seen


def test_power_is_the_mean_since_the_report_before():
    _, seen = watched(Server(report(2.0, 40.0), report(4.0, 100.0), report(8.0, 140.0)))
    assert seen == pytest.approx([20.0, 30.0, 10.0])


def test_an_answer_without_new_time_changes_nothing():
    _, seen = watched(Server(report(2.0, 40.0), report(2.0, 40.0)))
    assert seen == pytest.approx([20.0, 20.0])


def test_an_end_that_has_fallen_silent_is_not_measured_any_more():
    _, seen = watched(Server(report(2.0, 40.0), *[None] * STALE_POLLS, report(30.0, 600.0)))
    assert seen == pytest.approx([20.0, *[20.0] * (STALE_POLLS - 1), None, 20.0])


def test_a_server_that_reports_no_running_transfer_is_left_alone():
    server = Server(*[None] * (MOST_SILENT_POLLS + 3))
    power, _ = watched(server)
    assert (power.latest, len(server.reports)) == (None, 3)


def test_a_server_that_does_not_meter_is_not_queried():
    server = Server(report(2.0, 40.0))
    power, _ = watched(server, meters=False)
    assert (power.latest, len(server.reports)) == (None, 1)


def test_nothing_that_goes_wrong_ends_the_copy():
    _, seen = watched(Server(OSError("no route"), report(2.0, 40.0)))
    assert seen == [None, 20.0]


# In heartbeats, and alone


class OwnMeter:
    def __init__(self, power_w: float | None) -> None:
        self.power_w = power_w

    def find_latest(self, over_s: float = 0.0) -> LiveSample:
        return LiveSample(
            host=Host.DESTINATION,
            usage=ResourceUsage(),
            power_w=self.power_w,
            method=EnergyMethod.CPU_MODEL,
            quality=EnergyQuality.ASSUMED,
        )


def metered(own_w: float | None, *reports: ServerEnergyReport) -> BothEndsMeter:
    power, _ = watched(Server(*reports)) if reports else (OtherEndPower(Server()), [])
    return BothEndsMeter(OwnMeter(own_w), power)


def snapshot(elapsed_s: float, moved_bytes: int) -> Snapshot:
    plan = plan_by_rules(TRANSFER, BINS, Path(bandwidth_bps=1e8, rtt_s=0.05), SLA, because="a test")
    (chunk,) = plan.chunks
    left = FILES * FILE_BYTES - moved_bytes
    progress = ChunkSnapshot(
        chunk=chunk.chunk,
        parameters=chunk.parameters,
        moved_bytes=moved_bytes,
        remaining_bytes=left,
        remaining_files=-(-left // FILE_BYTES),
        files_done=moved_bytes // FILE_BYTES,
        files_skipped=0,
        files_failed=0,
        finished_s=None,
    )
    return Snapshot(
        elapsed_s=elapsed_s,
        chunks=(progress,),
        path=PathSample(0.06, 0.05, None, None, 1000, 0),
        open_connections=1,
    )


SLA = Sla(kind=SlaKind.ENERGY_AT_MOST, target=16_080.0)
HALF_S, TICKS = 195.0, 39


def beats(meter: BothEndsMeter):
    """Heartbeats until half of the bytes are moved, in `HALF_S`."""
    sampling = Sampling(request=ASKED, sees_path=True, now=lambda: NOW)
    plan = plan_by_rules(TRANSFER, BINS, Path(bandwidth_bps=1e8, rtt_s=0.05), SLA, because="a test")
    local = LocalController(build_basis(plan, ASKED, BINS))
    yield local, sampling.build_first(local.basis)
    for tick in range(1, TICKS + 1):
        moved = FILES * FILE_BYTES * tick // (2 * TICKS)
        yield local, sampling.build_next(snapshot(HALF_S * tick / TICKS, moved), meter.find_latest())


ASKED = replace(REQUEST, sla=SLA)
SAME_AT_THE_SOURCE = report(10.0, 10 * WATTS)


@pytest.mark.parametrize("reports", [(SAME_AT_THE_SOURCE,), ()], ids=["both metered", "this end alone"])
def test_a_lone_agent_budgets_the_energy_of_both_ends(reports):
    for local, beat in beats(metered(WATTS, *reports)):
        decision = local.decide(beat)
    assert decision.sla_bank == pytest.approx(240.0)
    assert ("metered at the destination alone" in decision.reason) is not bool(reports)


def test_a_heartbeat_names_the_ends_that_are_metered():
    *_, (_, both) = beats(metered(WATTS, report(10.0, 300.0)))
    assert [(each.host, each.power_w) for each in both.power_ends] == [(Host.DESTINATION, 20.0), (Host.SOURCE, 30.0)]
    assert both.power_w == 20.0
    *_, (_, other) = beats(metered(None, report(10.0, 300.0)))
    assert [each.host for each in other.power_ends] == [Host.SOURCE]
    assert other.power_w is None
    *_, (_, none) = beats(metered(None))
    assert none.power_ends == ()
