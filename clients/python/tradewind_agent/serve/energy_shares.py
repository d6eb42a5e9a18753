"""Shares of a host's energy while several transfers are served, by the bytes that each has moved.

Shares are of an interval in which the same transfers are there from its begin to its end; a byte costs the same for all
of them. Shorter intervals would tell no more: a large file goes out in pieces of megabytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

ALONE_SHARE = 0.99
"""A transfer that had at least this share of the host's energy was alone: index pages and reports weigh less."""


@dataclass(frozen=True, slots=True)
class EnergyInterval:
    """What the host took between samples of its meter, and the CPU time of the server's processes.

    ``is_steady`` : whether each value of the meter is a likely one, see `SteadyEnergy`.
    """

    duration_s: float = 0.0
    energy_j: float = 0.0
    cpu_s: float = 0.0
    is_steady: bool = True

    def __add__(self, later: "EnergyInterval") -> "EnergyInterval":
        return EnergyInterval(
            self.duration_s + later.duration_s,
            self.energy_j + later.energy_j,
            self.cpu_s + later.cpu_s,
            self.is_steady and later.is_steady,
        )


@dataclass(slots=True, eq=False)
class TransferAccount:
    """One transfer at this end, or all traffic that names none.

    Attributes
    ----------
    moved_bytes : of bodies, sent and received; ``attributed_bytes`` of them are in intervals shared out already.
    open_requests : being answered now.
    active_s : when a request last began or ended.
    is_over : its report was requested; another request opens it again.
    energy_j, base_s, cpu_s : its part. ``base_s`` is the time in which the host's base power was its own: half the time
        for one of two equal transfers.
    duration_s, host_j : how long it was there, and what the host took in that time.
    failure : why its energy is not known.
    was_steady : whether the meter counted without a jump, a fall or a pause meanwhile.
    """

    moved_bytes: int = 0
    attributed_bytes: int = 0
    open_requests: int = 0
    active_s: float = 0.0
    is_over: bool = False
    energy_j: float = 0.0
    base_s: float = 0.0
    cpu_s: float = 0.0
    duration_s: float = 0.0
    host_j: float = 0.0
    failure: str | None = None
    was_steady: bool = True

    @property
    def was_alone(self) -> bool:
        return self.energy_j >= ALONE_SHARE * self.host_j

    def charge(self, interval: EnergyInterval, share: float) -> None:
        self.energy_j += share * interval.energy_j
        self.base_s += share * interval.duration_s
        self.cpu_s += share * interval.cpu_s
        self.duration_s += interval.duration_s
        self.host_j += interval.energy_j
        self.was_steady &= interval.is_steady


def share_out(interval: EnergyInterval, sharers: Sequence[TransferAccount], others: TransferAccount) -> None:
    """Share an interval out among the transfers that were there.

    By the bytes that moved in it, those of ``others`` who name no transfer included; where nothing moved the host
    waited for all of the ``sharers`` equally.
    """
    everybody = (*sharers, others)
    moved = [account.moved_bytes - account.attributed_bytes for account in everybody]
    total_bytes = sum(moved)
    for account, moved_bytes in zip(sharers, moved, strict=False):
        account.charge(interval, moved_bytes / total_bytes if total_bytes else 1 / len(sharers))
    for account, moved_bytes in zip(everybody, moved, strict=True):
        account.attributed_bytes += moved_bytes
