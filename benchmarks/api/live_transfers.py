"""Transfers that obey: the heartbeats of the API benchmark, at settings that the service has converged to.

A heartbeat has marks in place of what changes from tick to tick, such as ``"@rate 1e8@"``; the load generator fills
them in. Rates and powers are those that the benchmark's logs follow (`benchmarks.api.cases`).
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.api.cases import PATH, compute_power_w
from benchmarks.support.http_load import LiveTransfer
from tradewind.dataset import DataSet
from tradewind.parameters import Parameters
from tradewind.unknown_path.prior import predict_throughput_bps

TICK_S = 5.0
WARM_UP_TICKS = 12
"""Heartbeats that are obeyed before the load starts: settings double at most within a tick."""

FULL_QUEUE_S = 0.03
"""Queueing delay while the pipe is full: half of what counts as usual when no log has a value."""

Send = Callable[[bytes], Mapping[str, Any]]


class ObedientTransfer:
    """One transfer, from its recommendation on."""

    def __init__(self, request: Mapping[str, Any], recommended: Mapping[str, Any]) -> None:
        self.id: str = recommended["transfer_id"]
        self._request = request
        self._files = _divide_files(request["dataset"], recommended["chunks"])
        self._plan = _read_plan(recommended)
        self._parameters: Mapping[str, Any] = recommended["parameters"]

    def warm_up(self, send: Send) -> list[bytes]:
        """Send the first heartbeats and obey each answer; return the heartbeats as they were sent."""
        sent = []
        for sequence in range(WARM_UP_TICKS):
            sent.append(fill_marks(self._format_body(), sequence))
            self.obey(send(sent[-1]))
        return sent

    def to_live_transfer(self) -> LiveTransfer:
        """Return the transfer at the settings of its last answer."""
        return LiveTransfer(self.id, self._format_body())

    def obey(self, answer: Mapping[str, Any]) -> None:
        """Follow an answer from now on."""
        self._plan, self._parameters = self._plan | _read_plan(answer), answer["parameters"]

    def _format_body(self) -> str:
        """Return a heartbeat in the middle of the transfer, where it stays."""
        settings = {kind: Parameters(**self._plan[kind]) for kind in self._files}
        lone = {kind: predict_throughput_bps(PATH, files, settings[kind]) for kind, files in self._files.items()}
        share = min(1.0, (PATH.bandwidth_bps or 0.0) / sum(lone.values()))
        queueing_delay_s = FULL_QUEUE_S if share < 1 else 0.0
        half_bytes = sum(files.total_bytes for files in self._files.values()) // 2
        streams = sum(each.streams for each in settings.values())
        beat = {
            "sequence": _make_mark("sequence"),
            "at": "2026-11-21T10:00:00Z",
            "interval_s": _make_mark("interval", TICK_S),
            "bytes_moved": half_bytes,
            "throughput_bps": _make_mark("rate", share * sum(lone.values())),
            "remaining_bytes": half_bytes,
            "remaining_files": sum(files.file_count for files in self._files.values()) // 2,
            "parameters": self._parameters,
            "rtt_s": (PATH.rtt_s or 0.0) + queueing_delay_s,
            "min_rtt_s": PATH.rtt_s,
            "sent_bytes": half_bytes,
            "retransmitted_bytes": 0,
            "power_w": compute_power_w(streams, share * sum(lone.values())),
            "chunks": [
                {
                    "chunk": kind,
                    "parameters": self._plan[kind],
                    "throughput_bps": _make_mark("rate", share * lone[kind]),
                    "remaining_bytes": files.total_bytes // 2,
                }
                for kind, files in self._files.items()
            ],
            "enquiry": self._request,
        }
        return json.dumps(beat)


def _divide_files(dataset: Mapping[str, Any], chunks: list[Mapping[str, Any]]) -> dict[str, DataSet]:
    """Return the files of each chunk: those above the chunk before, and up to its own upper end."""
    bins = dataset.get("size_histogram") or [dataset]
    files: dict[str, DataSet] = {}
    for chunk in chunks:
        top = chunk["max_file_bytes"]
        own = [each for each in bins if top is None or each["total_bytes"] <= top * each["file_count"]]
        bins = [each for each in bins if each not in own]
        files[chunk["chunk"]] = DataSet(
            file_count=sum(each["file_count"] for each in own), total_bytes=sum(each["total_bytes"] for each in own)
        )
    return files


def _read_plan(answer: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["chunk"]: each["parameters"] for each in answer["chunks"]}


def _make_mark(name: str, *values: float) -> str:
    return f"@{' '.join([name, *(f'{value:.1f}' for value in values)])}@"


def fill_marks(body: str, sequence: int) -> bytes:
    """Fill in the marks as the load generator does, but without the variation of its rates."""

    def format_value(mark: re.Match[str]) -> str:
        name, *numbers = mark[1].split()
        values = [float(each) for each in numbers]
        match name:
            case "sequence":
                return str(sequence)
            case _:  # a rate or an interval; there is none before the first tick
                return f"{values[0] if sequence else 0.0:.1f}"

    return re.sub(r'"@([^"]*)@"', format_value, body).encode()
