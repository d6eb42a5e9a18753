"""Transfer records as a busy tenant would log them, drawn from a known law, so that a fit can be judged by it.

T = BW · (1 − ℓ) · (1 − e^(−s/s₀)) · (1 − c · max(0, log₂(s/s_k))²) · f · e^ε,   s = cc · p
f = m / (m + r · RTT / max(pp, 1)),   P = P_idle + P_net · T/BW + P_stream · s

T   throughput, bit/s         s₀, s_k  streams at which the path fills and at which it begins to suffer
ℓ   external load, 0..0.6     f        share of the time in which files of mean size m (bits) move at r a connection
ε   noise, sd 0.08            P        power of the source host, W
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

NOISE_SD = 0.08
CONCURRENCIES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
PARALLELISMS = (1, 2, 3, 4, 6, 8)
PIPELININGS = (0, 1, 2, 4, 8, 16, 32)
BANDWIDTHS_BPS = (1e8, 1e9, 1e10)
MEAN_FILE_BYTES = (64 * 1024, 2 * 1024**2, 128 * 1024**2, 2 * 1024**3)
NETWORKS = ("wan", "lan", None)
IDLE_W, NETWORK_W, STREAM_W = 35.0, 25.0, 0.4
FIRST_START = datetime(2026, 1, 1, tzinfo=UTC)
SPAN = timedelta(days=80)
LINKS_AN_ENDPOINT = 8


@dataclass(frozen=True)
class LinkLaw:
    """One link and the law of its transfers."""

    source: str
    destination: str
    network: str | None
    bandwidth_bps: float
    rtt_s: float
    filling_streams: float
    suffering_streams: float

    def compute_throughput_bps(
        self, concurrency: int, parallelism: int, pipelining: int, mean_file_bytes: float, load: float
    ) -> float:
        """Return the law's throughput without its noise, bit/s."""
        streams = concurrency * parallelism
        filled = 1 - math.exp(-streams / self.filling_streams)
        suffering = 1 - 0.03 * max(0.0, math.log2(streams / self.suffering_streams)) ** 2
        a_connection_bps = self.bandwidth_bps * filled / concurrency
        file_bits = 8 * mean_file_bytes
        moving = file_bits / (file_bits + a_connection_bps * self.rtt_s / max(pipelining, 1))
        return self.bandwidth_bps * (1 - load) * filled * max(suffering, 0.2) * moving


def draw_link_laws(links: int, seed: int) -> list[LinkLaw]:
    """Return the links of a workload; they share endpoints, so that transfers of one link load another."""
    draw = random.Random(seed)
    endpoints = max(2, links // LINKS_AN_ENDPOINT)
    laws = []
    for n in range(links):
        bandwidth_bps = draw.choice(BANDWIDTHS_BPS)
        laws.append(
            LinkLaw(
                source=f"storage{n % endpoints}.example.org",
                destination=f"cluster{n // endpoints}.example.net",
                network=NETWORKS[n % len(NETWORKS)],
                bandwidth_bps=bandwidth_bps,
                rtt_s=draw.uniform(0.005, 0.15),
                filling_streams=draw.uniform(2, 8),
                suffering_streams=draw.uniform(16, 64),
            )
        )
    return laws


def draw_ndjson_lines(rows: int, *, links: int, seed: int) -> Iterator[bytes]:
    """Yield ``rows`` records over ``links`` links in the order of their start, each a line of NDJSON."""
    laws = draw_link_laws(links, seed)
    draw = random.Random(seed + 1)
    step = SPAN / rows
    for n in range(rows):
        started_at = FIRST_START + n * step
        yield _draw_line(laws[draw.randrange(links)], started_at, draw)


_TEMPLATE = (
    '{"id":"%s","started_at":"%s","ended_at":"%s","source":"%s","destination":"%s",%s'
    '"mover":{"name":"tradewind","version":"0.1.0"},"protocol":"https","direction":"download",'
    '"path":{"bandwidth_bps":%r,"rtt_s":%r,"min_rtt_s":%r,"loss_rate":%r,"buffer_bytes":4194304},'
    '"dataset":{"file_count":%d,"total_bytes":%d,"mean_file_bytes":%r,"max_file_bytes":%d},'
    '"parameters":{"concurrency":%d,"parallelism":%d,"pipelining":%d,"io_block_bytes":262144},'
    '"outcome":{"status":"succeeded","bytes_moved":%d,"files_done":%d,"files_failed":0,"throughput_bps":%r,'
    '"retransmitted_bytes":%d},"usage":{"cpu":%r,"memory":0.31,"nic":%r},'
    '"energy":[{"host":"source","total_j":%r,"dynamic_j":%r,"base_w":35.0,"method":"cpu_model","quality":"calibrated"}],'
    '"chunk":"whole"}\n'
)


def _draw_line(law: LinkLaw, started_at: datetime, draw: random.Random) -> bytes:
    concurrency = draw.choice(CONCURRENCIES)
    parallelism = draw.choice(PARALLELISMS)
    pipelining = draw.choice(PIPELININGS)
    mean_file_bytes = draw.choice(MEAN_FILE_BYTES) * draw.uniform(0.7, 1.4)
    file_count = draw.randint(4, 4000)
    total_bytes = round(mean_file_bytes * file_count)
    load = draw.betavariate(2, 6) * 0.6
    law_bps = law.compute_throughput_bps(concurrency, parallelism, pipelining, mean_file_bytes, load)
    throughput_bps = min(law_bps * math.exp(draw.gauss(0, NOISE_SD)), law.bandwidth_bps)
    duration_s = max(8 * total_bytes / throughput_bps, 0.01)
    used = throughput_bps / law.bandwidth_bps
    dynamic_w = NETWORK_W * used + STREAM_W * concurrency * parallelism
    loss_rate = draw.uniform(0, 2e-4)
    return (
        _TEMPLATE
        % (
            UUID(int=draw.getrandbits(128)),
            started_at.isoformat(),
            (started_at + timedelta(seconds=duration_s)).isoformat(),
            law.source,
            law.destination,
            "" if law.network is None else f'"network":"{law.network}",',
            law.bandwidth_bps,
            law.rtt_s * draw.uniform(1.0, 1.2),
            law.rtt_s,
            loss_rate,
            file_count,
            total_bytes,
            mean_file_bytes,
            round(2.5 * mean_file_bytes),
            concurrency,
            parallelism,
            pipelining,
            total_bytes,
            file_count,
            throughput_bps,
            round(loss_rate * total_bytes),
            0.1 + 0.5 * used,
            used,
            (IDLE_W + dynamic_w) * duration_s,
            dynamic_w * duration_s,
        )
    ).encode()
