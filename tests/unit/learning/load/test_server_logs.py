"""From the lines of a server, one a file, to the setting that a model recommends."""

import json
import math
from array import array
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from services.application.models.learned_model import EndpointLoad, KnownLoadCurve
from services.application.models.refresh import EndCurves
from tradewind.parameters import AXES
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tiers.selection import choose_setting
from tradewind_agent.history.importers.ports import ImportContext
from tradewind_agent.history.log_upload import read_logs
from workers.learner import Learner

FILE_BYTES = 10_000_000
RATES_BPS = {1: 80e6, 2: 160e6, 4: 320e6, 8: 320e6}
"""What the path carries with so many files at once."""

NEVER_LOGGED = (
    *("bandwidth_bps", "rtt_s", "min_rtt_s", "buffer_bytes", "retransmitted_bytes", "usage_cpu", "usage_disk"),
    *("source_energy_j", "destination_energy_j", "source_base_w", "destination_base_w"),
)


def write_server_log(files_at_once: int, begins: datetime, files: int = 160) -> str:
    """Return the lines of channels that each request a file as soon as the one before has come."""
    file_s = FILE_BYTES * 8 * files_at_once / RATES_BPS[files_at_once]
    lines = []
    for number in range(files):
        start = begins + timedelta(seconds=file_s * (number // files_at_once) + 0.01 * (number % files_at_once))
        end = start + timedelta(seconds=file_s * (1 + 0.01 * math.sin(number)))
        lines.append(
            f"DATE={end:%Y%m%d%H%M%S.%f} HOST=alpha PROG=globus-gridftp-server NL.EVNT=FTP_INFO "
            f"START={start:%Y%m%d%H%M%S.%f} USER=ann FILE=/f{files_at_once}-{number} BUFFER=87380 BLOCK=262144 "
            f"NBYTES={FILE_BYTES} VOLUME=/ STREAMS=1 STRIPES=1 DEST=[192.0.2.17] TYPE=RETR CODE=226"
        )
    return "\n".join(lines) + "\n"


def to_batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    start_s, end_s = (
        [datetime.fromisoformat(row[name]).timestamp() for row in rows] for name in ("started_at", "ended_at")
    )
    numbers = {
        "start_s": start_s,
        "end_s": end_s,
        "received_s": end_s,
        "bytes_moved": [row["outcome"]["bytes_moved"] for row in rows],
        "throughput_bps": [row["outcome"]["throughput_bps"] for row in rows],
        "mean_file_bytes": [row["dataset"]["mean_file_bytes"] for row in rows],
        "file_count": [row["dataset"]["file_count"] for row in rows],
        **{axis: [row["parameters"].get(axis) for row in rows] for axis in AXES},
        **{name: [None] * len(rows) for name in NEVER_LOGGED},
    }
    columns = {name: pa.array(values, pa.float64()) for name, values in numbers.items()}
    return pa.RecordBatch.from_pydict({"id": pa.array([UUID(row["id"]).bytes for row in rows]), **columns})


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    begins = datetime(2026, 11, 20, 8, tzinfo=UTC)
    text = "".join(
        write_server_log(files_at_once, begins + timedelta(hours=hour))
        for hour, files_at_once in enumerate(sorted(RATES_BPS))
    )
    lines = read_logs([("log", BytesIO(text.encode()))], format_name="auto", context=ImportContext(), reports=[])
    return [json.loads(line) for line in lines]


def test_more_files_at_once_are_recommended_where_together_they_are_faster(rows: list[dict[str, Any]]):
    nothing = KnownLoadCurve(array("d"), array("d"))
    end = EndpointLoad(UUID(int=1), (), lambda: ())
    model = Learner().fit(
        [to_batch(rows)],
        EndCurves(end, end, nothing),
        unknown_before_bps=None,
        current_model=None,
        requested={},
    )
    for leaf in model.leaves:
        choice = choose_setting(leaf.table, Sla(kind=SlaKind.MAX_THROUGHPUT), dataset_bytes=4 * FILE_BYTES)
        assert choice is not None
        assert 4 <= (choice.setting.parameters.concurrency or 0) <= 8
        assert math.exp(choice.setting.log_throughput_mean) == pytest.approx(320e6, rel=0.2)
