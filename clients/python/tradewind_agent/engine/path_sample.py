"""Samples of the path from the transfer's own connections: round-trip times, sent and retransmitted bytes."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median

from tradewind_agent.engine.http.tcp_info import TcpInfo

WINDOW_S = 5.0
"""A tick: samples of other settings say nothing of this one."""

LEAST_APART_S = 0.1
"""Samples nearer to one another count once, whoever takes them."""

LEAST_SAMPLES = 8
SHARE = 0.5
SAME = 0.01
"""Half of the samples of an empty queue lie within 1 % of one another.

Of ticks over emulated paths with real TCP, at most a third did so while CUBIC filled a queue.
"""


@dataclass(frozen=True, slots=True)
class PathSample:
    """A sample over all connections; ``None`` where nothing is known.

    ``rtt_s`` : median over the open connections. ``min_rtt_s`` : minimum over all connections. ``settled_rtt_s`` : what
    half of the last samples share, see `SettledRtt`.
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
    settled_rtt_s: float | None = None


class SettledRtt:
    """Finds the round trip that most samples share: that of an empty queue, as what is in a queue varies."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._samples: deque[tuple[float, float]] = deque()

    def add(self, rtt_s: float) -> None:
        """Add a sample of now; one equal to the last, to the microsecond, is the same: nothing has arrived since."""
        now_s = self._clock_s()
        if self._samples and (now_s - self._samples[-1][0] < LEAST_APART_S or rtt_s == self._samples[-1][1]):
            return
        self._samples.append((now_s, rtt_s))
        while self._samples[0][0] <= now_s - WINDOW_S:
            self._samples.popleft()

    def find_s(self) -> float | None:
        """Return the least of the samples that at least half of them exceed by at most 1 %, s; ``None`` if none is."""
        rtts_s = sorted(rtt_s for _, rtt_s in self._samples)
        count = len(rtts_s)
        if count < LEAST_SAMPLES:
            return None
        half = math.ceil(SHARE * count)
        spans = zip(rtts_s, rtts_s[half - 1 :], strict=False)
        return next((first for first, last in spans if last <= first * (1 + SAME)), None)


class PathSampler:
    """A sampler that sums over open and closed connections."""

    def __init__(self) -> None:
        self._min_rtt_s: float | None = None
        self._min_first_byte_s: float | None = None
        self._settled_rtt = SettledRtt()
        self._closed: dict[bool, tuple[int, int]] = dict.fromkeys((False, True), (0, 0))

    def add_closed(self, info: TcpInfo) -> None:
        """Add the totals of a closed connection."""
        self._min_rtt_s = _compute_min_known(self._min_rtt_s, info.min_rtt_s)
        for receiving, (carried, again) in self._closed.items():
            more, more_again = _count_carried(info, receiving=receiving)
            self._closed[receiving] = (carried + more, again + more_again)

    def note_rtt(self, open_infos: Iterable[TcpInfo], *, receiving: bool) -> float | None:
        """Note how long a round trip takes now, and return it, s; ``None`` where no connection knows."""
        rtts_s = [rtt_s for info in open_infos if (rtt_s := _read_rtt_s(info, receiving=receiving)) is not None]
        if not rtts_s:
            return None
        rtt_s = median(rtts_s)
        self._settled_rtt.add(rtt_s)
        return rtt_s

    def sample(self, open_infos: Iterable[TcpInfo], first_bytes_s: Iterable[float], *, receiving: bool) -> PathSample:
        """Sample open and closed connections; ``receiving`` reads the values of incoming data."""
        infos, waits_s = list(open_infos), list(first_bytes_s)
        for info in infos:
            self._min_rtt_s = _compute_min_known(self._min_rtt_s, info.min_rtt_s)
        self._min_first_byte_s = _compute_min_known(self._min_first_byte_s, min(waits_s, default=None))
        rtt_s = self.note_rtt(infos, receiving=receiving)
        carried = [self._closed[receiving], *(_count_carried(info, receiving=receiving) for info in infos)]
        return PathSample(
            rtt_s=rtt_s,
            min_rtt_s=self._min_rtt_s,
            first_byte_s=median(waits_s) if waits_s else None,
            min_first_byte_s=self._min_first_byte_s,
            sent_bytes=sum(nbytes for nbytes, _ in carried),
            retransmitted_bytes=sum(again for _, again in carried),
            settled_rtt_s=self._settled_rtt.find_s(),
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
