"""Samples of the path from the transfer's own connections: round-trip times, sent and retransmitted bytes."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from tradewind_agent.engine.http.tcp_info import TcpInfo


@dataclass(frozen=True, slots=True)
class PathSample:
    """A sample over all connections; ``None`` where nothing is known.

    ``rtt_s`` : median over the open connections. ``min_rtt_s`` : minimum over all connections.
    ``first_byte_s``, ``min_first_byte_s`` : from a request on an idle connection to its first byte; a round trip and
    the server's processing. Behind a proxy or another middle box this is the only view of the entire path.
    ``sent_bytes``, ``retransmitted_bytes`` : in the direction of the payload. Of an upload as the kernel counts them;
    of a download what arrived, and an estimate of what had to be sent again, see `receiver_loss`.
    """

    rtt_s: float | None
    min_rtt_s: float | None
    first_byte_s: float | None
    min_first_byte_s: float | None
    sent_bytes: int
    retransmitted_bytes: int


class PathSampler:
    """A sampler that sums over open and closed connections."""

    def __init__(self) -> None:
        self._min_rtt_s: float | None = None
        self._min_first_byte_s: float | None = None
        self._closed: dict[bool, tuple[int, int]] = dict.fromkeys((False, True), (0, 0))

    def add_closed(self, info: TcpInfo) -> None:
        """Add the totals of a closed connection."""
        self._min_rtt_s = _compute_min_known(self._min_rtt_s, info.min_rtt_s)
        for receiving, (carried, again) in self._closed.items():
            more, more_again = _count_carried(info, receiving=receiving)
            self._closed[receiving] = (carried + more, again + more_again)

    def sample(self, open_infos: Iterable[TcpInfo], first_bytes_s: Iterable[float], *, receiving: bool) -> PathSample:
        """Sample open and closed connections; ``receiving`` reads the values of incoming data."""
        infos, waits_s = list(open_infos), list(first_bytes_s)
        for info in infos:
            self._min_rtt_s = _compute_min_known(self._min_rtt_s, info.min_rtt_s)
        self._min_first_byte_s = _compute_min_known(self._min_first_byte_s, min(waits_s, default=None))
        rtts_s = [rtt_s for info in infos if (rtt_s := _read_rtt_s(info, receiving=receiving)) is not None]
        carried = [self._closed[receiving], *(_count_carried(info, receiving=receiving) for info in infos)]
        return PathSample(
            rtt_s=median(rtts_s) if rtts_s else None,
            min_rtt_s=self._min_rtt_s,
            first_byte_s=median(waits_s) if waits_s else None,
            min_first_byte_s=self._min_first_byte_s,
            sent_bytes=sum(nbytes for nbytes, _ in carried),
            retransmitted_bytes=sum(again for _, again in carried),
        )


def _read_rtt_s(info: TcpInfo, *, receiving: bool) -> float | None:
    return info.receive_rtt_s or info.rtt_s if receiving else info.rtt_s


def _count_carried(info: TcpInfo, *, receiving: bool) -> tuple[int, int]:
    """Return the bytes in the direction of the payload, and the retransmitted ones."""
    if receiving:
        lost_bytes = info.lost_bytes or 0
        return (info.received_bytes or 0) + lost_bytes, lost_bytes
    return info.sent_bytes or 0, info.retransmitted_bytes or 0


def _compute_min_known(known: float | None, seen: float | None) -> float | None:
    return min((value for value in (known, seen) if value is not None), default=None)
