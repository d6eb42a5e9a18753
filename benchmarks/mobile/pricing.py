"""Price a run by the shipped profiles of phones: modelled, per 100 MB, screen on.

The run's duration, its bytes and its processor time on this machine are real. A phone needs more processor time:
`PHONE_SLOWDOWN` times as much, an assumption between a core of 2014 and a server's. The tail is paid once for the
complete data set; a run that was cut stands for its share.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from benchmarks.wan.runs import Row
from tradewind.mobile.batching import BatchTerms, plan_batches
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind.mobile.energy_split import PAPER_UNIT_BYTES, EnergySplit, TransferWork, model_energy_split
from tradewind.mobile.profiles import DeviceProfile, RadioProfile
from tradewind.mobile.queue import QueuedJob
from tradewind.units import BITS_PER_BYTE, compute_throughput_bps

DEVICE = "galaxy-s5"
CORES = {"nexus-s": 1, "galaxy-nexus": 2, "galaxy-s4": 4, DEVICE: 4}
"""Cores of the processors that the paper's table 1 names."""
PHONE_SLOWDOWN = 4.0
FACTORS = (0.5, 1.5)
TAIL_JOBS = 10
"""So many separate transfers are compared with the same ones back to back."""


@dataclass(frozen=True, slots=True)
class Constants:
    """A phone and its radio, with one group of its constants multiplied."""

    name: str
    factor: float
    cores: int
    device: DeviceProfile
    radio: RadioProfile


def load_published_constants(radio: str, phone: str = DEVICE) -> Constants:
    device = load_shipped_catalogue().find_device(phone)
    return Constants("all", 1.0, CORES[phone], device, device.find_radio(radio))


def vary_constants(radio: str, factor: float) -> Iterator[Constants]:
    """Yield the constants with each group multiplied alone: multiplying all of them changes no comparison."""
    published = replace(load_published_constants(radio), factor=factor)
    device, own = published.device, published.radio
    scaled = device.scale(factor)
    yield replace(published, name="base", device=replace(device, idle_w=scaled.idle_w, screen_w=scaled.screen_w))
    yield replace(published, name="cpu", device=replace(device, component_w=scaled.component_w))
    yield replace(published, name="radio", radio=own.scale(factor))
    yield replace(published, name="tail", radio=replace(own, tail_w=own.tail_w.scale(factor)))


def split_energy(row: Row, constants: Constants) -> EnergySplit:
    """Return the split per 100 MB of a run that has moved something."""
    moved_bytes = row["bytes_done"]
    busy = min(1.0, PHONE_SLOWDOWN * row["cpu_s"] / (constants.cores * row["duration_s"]))
    work = TransferWork(duration_s=row["duration_s"], received_bytes=moved_bytes, utilisation={"cpu": busy})
    ran = model_energy_split(constants.device, constants.radio, work, screen_on=True).compute_per_unit(
        PAPER_UNIT_BYTES, moved_bytes
    )
    return replace(ran, tail_j=_compute_tail_j(row, constants))


def _compute_tail_j(row: Row, constants: Constants) -> float:
    """Return the energy of the one tail of the complete data set, per 100 MB, J."""
    return constants.radio.compute_tail_energy_j(inf) * PAPER_UNIT_BYTES / float(row["total_bytes"])


def price_energy_j(row: Row, constants: Constants) -> float:
    """Return base, dynamic and tail energy together, per 100 MB, J; infinite where nothing was moved."""
    if not row["bytes_done"]:
        return inf
    return split_energy(row, constants).total_j + _compute_tail_j(row, constants)


def price_dynamic_j(row: Row, constants: Constants) -> float:
    """Return E_d alone, per 100 MB, J; infinite where nothing was moved."""
    return split_energy(row, constants).dynamic_j if row["bytes_done"] else inf


def price_tail_saving(rows: Sequence[Row], constants: Constants) -> float:
    """Return the share of the radio's energy above idle that sending back to back saves.

    It is that of ten transfers of one 100th of a data set each; the energy of the bits is included.
    """
    row = max(rows, key=lambda run: run["bytes_done"] / run["duration_s"])
    rate_bps = compute_throughput_bps(row["bytes_done"], row["duration_s"])
    jobs = [
        QueuedJob(name=str(number), total_bytes=row["total_bytes"] // 100, throughput_bps=rate_bps)
        for number in range(TAIL_JOBS)
    ]
    plan = plan_batches(jobs, BatchTerms(radio=constants.radio))
    bits = float(BITS_PER_BYTE * sum(job.total_bytes for job in jobs))
    bits_j = constants.radio.compute_bits_energy_j(bits, 0.0, bits / rate_bps)
    return plan.saved_j / (plan.separate_active_j + plan.separate_tail_j + bits_j)
