"""The service on a client's host, as the wide-area benchmark has it."""

import json
import random
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from benchmarks.testbed.path_spec import PathSpec
from benchmarks.wan.learned_service import run_learned_service
from benchmarks.wan.lessons import LESSONS
from tradewind.parameters import Parameters

FILES, TOTAL_BYTES = 400, 40_000_000


def growing(setting: Parameters, draw: random.Random) -> float:
    """Throughput (bit/s) that grows with the streams."""
    return 90e6 * min(setting.streams * 0.1, 1.0) * draw.uniform(0.97, 1.03)


def erratic(setting: Parameters, draw: random.Random) -> float:
    """Throughput (bit/s) of a path that now and then hardly moves anything, at whatever setting."""
    return growing(setting, draw) * draw.choice((1.0, 1.0, 1.0, 0.003))


def log_of_lessons(
    path: Path, rate_of: Callable[[Parameters, random.Random], float] = growing, *, uploads: bool = False
) -> Path:
    """Records of a transfer at each setting."""
    source, destination = ("client", "far") if uploads else ("far", "client")
    draw, began = random.Random(1), datetime(2026, 11, 1, tzinfo=UTC)
    with path.open("w") as file:
        for number, setting in enumerate([*LESSONS, *LESSONS]):
            rate_bps = rate_of(setting, draw)
            at = began + timedelta(minutes=number)
            row = {
                "id": str(UUID(int=draw.getrandbits(128), version=4)),
                "started_at": at.isoformat(),
                "ended_at": (at + timedelta(seconds=8 * TOTAL_BYTES / rate_bps)).isoformat(),
                "source": source,
                "destination": destination,
                "mover": {"name": "tradewind"},
                "protocol": "http",
                "direction": "upload" if uploads else "download",
                "path": {"rtt_s": 0.06, "bandwidth_bps": 100e6},
                "dataset": {"file_count": FILES, "total_bytes": TOTAL_BYTES, "mean_file_bytes": TOTAL_BYTES / FILES},
                "parameters": setting.list_known(),
                "outcome": {
                    "status": "succeeded",
                    "bytes_moved": TOTAL_BYTES,
                    "files_done": FILES,
                    "files_failed": 0,
                    "throughput_bps": rate_bps,
                },
            }
            file.write(json.dumps(row) + "\n")
    return path


@pytest.fixture
def world_readable() -> Iterator[Path]:
    """A folder that the accounts of embedded services may enter, which pytest's are not."""
    with tempfile.TemporaryDirectory(prefix="learned-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_client_host_asks_a_service_that_has_learned(stand, tmp_path, world_readable):
    bed = stand(PathSpec(rate_bps=50e6, rtt_s=0.01))
    client = bed.clients[0]
    logs = [log_of_lessons(tmp_path / "lessons.ndjson")]
    with run_learned_service(bed, client, logs, folder=world_readable, port=8080) as service:
        assert service.has_model
        found = service.variables
        ask = ["curl", "-sS", "--fail", "-H", f"Authorization: Bearer {found['TRADEWIND_KEY']}"]
        [release] = json.loads(bed.run(client, [*ask, f"{found['TRADEWIND_URL']}/v1/releases"]))
        assert release["current"]
        assert release["clusters"] >= 1
    assert subprocess.run(
        client.build_command([*ask, found["TRADEWIND_URL"]]), check=False, capture_output=True
    ).returncode


def test_release_of_uploads_answers_uploads_alone(stand, tmp_path, world_readable):
    bed = stand(PathSpec(rate_bps=50e6, rtt_s=0.01))
    client = bed.clients[0]
    logs = [log_of_lessons(tmp_path / "lessons.ndjson", uploads=True)]
    with run_learned_service(bed, client, logs, folder=world_readable, port=8080) as service:
        found = service.variables
        request = {"path": {"rtt_s": 0.06}, "dataset": {"file_count": FILES, "total_bytes": TOTAL_BYTES}}
        request |= {"mover": "tradewind", "sla": {"kind": "max_throughput"}}

        def recommend(source: str, destination: str) -> dict[str, object]:
            headers = ["-H", f"Authorization: Bearer {found['TRADEWIND_KEY']}", "-H", "Content-Type: application/json"]
            body = json.dumps(request | {"source": source, "destination": destination})
            ask = ["curl", "-sS", "--fail", *headers, "-d", body, f"{found['TRADEWIND_URL']}/v1/recommend"]
            answer: dict[str, object] = json.loads(bed.run(client, ask))
            return answer

        assert recommend("client", "far")["source"] == "release"
        assert recommend("far", "client")["source"] != "release"


def test_logs_without_good_model_are_reported(stand, tmp_path, world_readable):
    bed = stand(PathSpec(rate_bps=50e6, rtt_s=0.01))
    logs = [log_of_lessons(tmp_path / "lessons.ndjson", rate_of=erratic)]
    with run_learned_service(bed, bed.clients[0], logs, folder=world_readable, port=8080) as service:
        assert not service.has_model
