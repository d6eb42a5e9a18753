"""*Devices*: what phones and radios draw and the sources, where a transfer's energy goes, when to send queued jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from services.admin.charts.energy import Bar, build_energy_chart
from services.admin.rendering import build_page_router, encode_chart, render_page
from services.admin.visitors import Parts, Signed, Visit
from services.application.advice.devices import KnownDevice, list_known_devices
from services.bootstrap import Container
from tradewind.errors import NotFound, Unavailable
from tradewind.mobile.batching import MAX_JOBS, BatchPlan, BatchTerms, plan_batches
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind.mobile.energy_split import PAPER_UNIT_BYTES, TransferWork, model_energy_split
from tradewind.mobile.profiles import DeviceProfile, RadioProfile
from tradewind.mobile.queue import QueuedJob
from tradewind.units import BITS_PER_BYTE, MBIT

router = build_page_router("/devices")

SHOWN_RATES_MBPS = (5, 20, 80)
"""Rates at which the energy of 100 MB is shown."""
_MB = 10**6
Choice = Annotated[str, Query(max_length=63)]


@dataclass(frozen=True, slots=True)
class EqualJobs:
    """A queue of equal jobs that become ready one after another."""

    radio: str
    jobs: int
    job_mb: float
    rate_mbps: float
    apart_s: float
    patience_s: float
    price_w: float

    def to_queue(self) -> Sequence[QueuedJob]:
        return [
            QueuedJob(
                name=f"job {number + 1}",
                total_bytes=round(self.job_mb * _MB),
                throughput_bps=self.rate_mbps * MBIT,
                ready_s=number * self.apart_s,
                deadline_s=number * self.apart_s + self.patience_s if self.patience_s else None,
            ).require_plannable()
            for number in range(self.jobs)
        ]


@router.get("")
async def devices_page(
    request: Request,
    visit: Signed,
    parts: Parts,
    *,
    device: Choice = "",
    radio: Choice = "",
    jobs: Annotated[int, Query(ge=1, le=MAX_JOBS)] = 6,
    job_mb: Annotated[float, Query(gt=0, le=1e6)] = 5.0,
    rate_mbps: Annotated[float, Query(gt=0, le=1e5)] = 10.0,
    apart_s: Annotated[float, Query(ge=0, le=86_400)] = 60.0,
    patience_s: Annotated[float, Query(ge=0, le=864_000)] = 600.0,
    price_w: Annotated[float, Query(ge=0, le=1000)] = 0.05,
) -> Response:
    """Show all profiles, the energy of one device, and the bursts advised for a queue.

    Raises
    ------
    NotFound : there is no such device, or it has no such radio.
    """
    known = await run_in_threadpool(_list_devices, parts, visit)
    shown = _find_device(known, device)
    radios, shipped = list(shown.profile.radios.values()), list(load_shipped_catalogue().radios.values())
    chosen = shown.profile.find_radio(radio) if radio else radios[-1]
    equal_jobs = EqualJobs(chosen.name, jobs, job_mb, rate_mbps, apart_s, patience_s, price_w)
    plan = await _plan_queue(
        parts,
        visit.visitor.tenant_id,
        equal_jobs.to_queue(),
        BatchTerms(radio=chosen, waiting_price_w=equal_jobs.price_w),
    )
    return await run_in_threadpool(
        render_page,
        request,
        "devices.html",
        visit,
        devices=known,
        radios=shipped,
        own_radios=[each for each in radios if each not in shipped],
        shown=shown,
        shown_radios=radios,
        energy_chart=encode_chart(build_energy_chart(_list_bars(shown.profile, radios))),
        equal_jobs=equal_jobs,
        most_jobs=MAX_JOBS,
        chosen=chosen,
        full_tail_j=chosen.compute_tail_energy_j(inf),
        plan=plan,
    )


async def _plan_queue(
    parts: Container, tenant_id: UUID, queue: Sequence[QueuedJob], terms: BatchTerms
) -> BatchPlan | None:
    """Return the plan; ``None`` while other queues are planned, so that the rest of the page does not wait."""
    try:
        async with parts.planning_slots.hold(tenant_id):
            return await parts.computing.compute(plan_batches, queue, terms)
    except Unavailable:
        return None


def _list_devices(parts: Container, visit: Visit) -> Sequence[KnownDevice]:
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        return list_known_devices(load_shipped_catalogue(), uow=uow)


def _find_device(known: Sequence[KnownDevice], name: str) -> KnownDevice:
    """Return the requested device; by default the first of those with the most radios.

    Raises
    ------
    NotFound
    """
    if not name:
        return max(known, key=lambda each: len(each.profile.radios))
    found = next((each for each in known if each.profile.name == name), None)
    if found is None:
        raise NotFound(f"no device {name!r}; the page of devices lists those that there are")
    return found


def _list_bars(device: DeviceProfile, radios: Sequence[RadioProfile]) -> Sequence[Bar]:
    """Return the energy of receiving 100 MB at several rates by each radio, screen on, with a complete tail."""
    bars = []
    for radio in radios:
        for rate_mbps in SHOWN_RATES_MBPS:
            duration_s = BITS_PER_BYTE * PAPER_UNIT_BYTES / (rate_mbps * MBIT)
            work = TransferWork(duration_s=duration_s, received_bytes=PAPER_UNIT_BYTES)
            split = model_energy_split(device, radio, work, screen_on=True)
            bars.append(Bar(f"{radio.title.partition(' (')[0]}, {rate_mbps} Mbit/s", split))
    return bars
