"""What a run would have taken of a phone, by the shipped profiles: modelled, per 100 MB, screen on.

Real are the run's duration, its bytes and its processor time on this machine. A phone needs more of that: `SLOWER`
times as much, an assumption between a core of 2014 and a server's. The tail is paid once for the whole data set; a run
that was cut stands for its share.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from benchmarks.wan.runs import Row
from tradewind.mobile.batching import BatchTerms, plan_batches
from tradewind.mobile.catalogue import shipped_catalogue
from tradewind.mobile.energy_split import PAPER_UNIT_BYTES, EnergySplit, TransferWork, modelled_split
from tradewind.mobile.profiles import DeviceProfile, RadioProfile
from tradewind.mobile.queue import QueuedJob
from tradewind.units import BITS_PER_BYTE, throughput_bps

DEVICE = "galaxy-s5"
CORES = {"nexus-s": 1, "galaxy-nexus": 2, "galaxy-s4": 4, DEVICE: 4}
"""Of the processors that the paper's table 1 names."""
SLOWER = 4.0
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


def as_published(radio: str, phone: str = DEVICE) -> Constants:
    device = shipped_catalogue().device(phone)
    return Constants("all", 1.0, CORES[phone], device, device.radio(radio))


def varied(radio: str, factor: float) -> Iterator[Constants]:
    """Each group of constants multiplied by itself: to multiply all of them changes no comparison."""
    published = replace(as_published(radio), factor=factor)
    device, own = published.device, published.radio
    scaled = device.scaled(factor)
    yield replace(published, name="base", device=replace(device, idle_w=scaled.idle_w, screen_w=scaled.screen_w))
    yield replace(published, name="cpu", device=replace(device, component_w=scaled.component_w))
    yield replace(published, name="radio", radio=own.scaled(factor))
    yield replace(published, name="tail", radio=replace(own, tail_w=own.tail_w.scaled(factor)))


def split_of(row: Row, constants: Constants) -> EnergySplit:
    """The split per 100 MB of a run that has moved something."""
    moved_bytes = row["bytes_done"]
    busy = min(1.0, SLOWER * row["cpu_s"] / (constants.cores * row["duration_s"]))
    work = TransferWork(duration_s=row["duration_s"], received_bytes=moved_bytes, utilisation={"cpu": busy})
    ran = modelled_split(constants.device, constants.radio, work, screen_on=True).per(PAPER_UNIT_BYTES, moved_bytes)
    return replace(ran, tail_j=_tail_j(row, constants))


def _tail_j(row: Row, constants: Constants) -> float:
    """Of the one tail of the whole data set, likewise."""
    return constants.radio.tail_energy_j(inf) * PAPER_UNIT_BYTES / float(row["total_bytes"])


def energy_j(row: Row, constants: Constants) -> float:
    """Base, dynamic and tail together, per 100 MB; infinite where nothing was moved."""
    if not row["bytes_done"]:
        return inf
    return split_of(row, constants).total_j + _tail_j(row, constants)


def dynamic_j(row: Row, constants: Constants) -> float:
    """E_d alone, likewise."""
    return split_of(row, constants).dynamic_j if row["bytes_done"] else inf


def tail_saving(rows: Sequence[Row], constants: Constants) -> float:
    """Share of the radio's energy above idle, that of the bits included, that ten transfers of one 100th of a data set
    save back to back.
    """
    row = max(rows, key=lambda each: each["bytes_done"] / each["duration_s"])
    rate_bps = throughput_bps(row["bytes_done"], row["duration_s"])
    jobs = [
        QueuedJob(name=str(number), total_bytes=row["total_bytes"] // 100, throughput_bps=rate_bps)
        for number in range(TAIL_JOBS)
    ]
    plan = plan_batches(jobs, BatchTerms(radio=constants.radio))
    bits_j = BITS_PER_BYTE * sum(job.total_bytes for job in jobs) * constants.radio.receive_j_per_bit.value
    return plan.saved_j / (plan.apart_active_j + plan.apart_tail_j + bits_j)
