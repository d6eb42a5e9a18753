"""Run one case under one tuner: a testbed, the transfers, the metrics, and the timeline they are taken from."""

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.support.report import Value
from benchmarks.testbed.cross_traffic import CrossTraffic, read_report, run_cross_traffic
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.schedule import Step, run_schedule
from benchmarks.testbed.soundness import LATE_SHARES, PAUSES_S, MachineTooBusy
from benchmarks.tuning.cases import BASE, Case, CompetitorCase, FairnessCase, SlaCase, StepCase, TraceCase
from benchmarks.tuning.driver import TickRow
from benchmarks.tuning.metrics import (
    compute_capacity_bits,
    compute_competitor_share,
    compute_jain_index,
    compute_mean_bps,
    compute_mean_bps_between,
    compute_oscillation,
    compute_shortfall,
    count_changes,
)
from benchmarks.tuning.task import TICK_S
from benchmarks.tuning.transfers import TransferSpec, TransferTestbed, set_up_transfers

PAYLOAD_SHARE = 1448 / 1500
"""Share of the payload in a full packet, with time stamps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRunner:
    """How a case is run: from which table, in which folder, with which seed; ``oracle_bps`` of a path.

    ``prioritised`` : whether this has precedence over all other programs.
    """

    table: Path
    folder: Path
    seed: int
    oracle_bps: Callable[[PathSpec], float]
    prioritised: bool = False

    def run(self, case: Case, tuner: str) -> dict[str, Value]:
        """Return the row of a case: its metrics, the link's counters, the timeline of each transfer.

        Raises
        ------
        MachineTooBusy : in every attempt.
        """
        for pause_s in PAUSES_S:
            try:
                return self._run_once(case, tuner)
            except MachineTooBusy as busy:
                sys.stderr.write(f"  {case.name} {tuner} is repeated: {busy}\n")
                time.sleep(pause_s)
        return self._run_once(case, tuner)

    def _run_once(self, case: Case, tuner: str) -> dict[str, Value]:
        match case:
            case StepCase():
                return self._run_step(case, tuner)
            case SlaCase():
                return self._run_sla(case, tuner)
            case FairnessCase():
                return self._run_fairness(case, tuner)
            case CompetitorCase():
                return self._run_competitor(case, tuner)
            case TraceCase():
                return self._run_trace(case, tuner)

    def _run_step(self, case: StepCase, tuner: str) -> dict[str, Value]:
        with self._set_up() as testbed:
            [rows] = testbed.run(
                [self._make_spec(tuner, case.ticks)], changes={case.warm: lambda: testbed.bed.change(case.then)}
            )
            link = _describe_link(testbed)
        after = rows[case.warm + case.within :]
        oracle_bps = self.oracle_bps(case.then)
        return {
            "oracle_fraction_after_5_ticks": compute_mean_bps(after) / oracle_bps,
            "oscillation": compute_oscillation(after),
            "changes": count_changes(after),
            "mbps": compute_mean_bps(after) / 1e6,
            "oracle_mbps": oracle_bps / 1e6,
            "streams": statistics.fmean(row["streams"] for row in after),
            **link,
            "timelines": _shorten_timelines([rows]),
        }

    def _run_sla(self, case: SlaCase, tuner: str) -> dict[str, Value]:
        with (
            self._set_up(clients=2) as testbed,
            run_cross_traffic(testbed.bed, testbed.bed.clients[1], case.traffic) as report,
        ):
            [rows] = testbed.run([self._make_spec(tuner, case.ticks, case.target_bps)])
            link, others = _describe_link(testbed), read_report(report)
        return {
            "sla_shortfall": compute_shortfall(rows, case.target_bps),
            "changes": count_changes(rows),
            "mbps": compute_mean_bps(rows) / 1e6,
            "target_mbps": case.target_bps / 1e6,
            "others_mbps": statistics.fmean(bps for _, bps in others) / 1e6,
            "streams": statistics.fmean(row["streams"] for row in rows),
            **link,
            "timelines": _shorten_timelines([rows]),
        }

    def _run_fairness(self, case: FairnessCase, tuner: str) -> dict[str, Value]:
        lasting_s = case.to_s + case.apart_s * (case.transfers - 1)
        specs = [self._make_spec(tuner, 1 + int(lasting_s / TICK_S))] * case.transfers
        with self._set_up(clients=case.transfers) as testbed:
            runs = testbed.run(specs, apart_s=case.apart_s)
            link = _describe_link(testbed)
        all_started_s = max(rows[0]["until_s"] - rows[0]["interval_s"] for rows in runs)
        rates = [
            compute_mean_bps_between(rows, all_started_s + case.from_s, all_started_s + case.to_s) for rows in runs
        ]
        return {
            "jain": compute_jain_index(rates),
            "changes": sum(count_changes(rows) for rows in runs),
            "mbps": sum(rates) / 1e6,
            "rates_mbps": [round(rate / 1e6, 2) for rate in rates],
            "streams": statistics.fmean(row["streams"] for rows in runs for row in rows),
            **link,
            "timelines": _shorten_timelines(runs),
        }

    def _run_competitor(self, case: CompetitorCase, tuner: str) -> dict[str, Value]:
        with self._set_up(clients=2) as testbed, ExitStack() as traffic:
            reports: list[Path] = []

            def start_rival() -> None:
                rival = run_cross_traffic(testbed.bed, testbed.bed.clients[1], CrossTraffic(flows=1, seed=self.seed))
                reports.append(traffic.enter_context(rival))

            [rows] = testbed.run([self._make_spec(tuner, case.ticks)], changes={case.warm: start_rival})
            link = _describe_link(testbed)
            rates = [bps for at_s, bps in read_report(*reports) if at_s > case.warm_up_ticks * TICK_S]
        after = rows[case.warm + case.warm_up_ticks :]
        streams, rival_bps = statistics.fmean(row["streams"] for row in after), statistics.fmean(rates)
        return {
            "competitor_share": compute_competitor_share(rival_bps, PAYLOAD_SHARE * BASE.rate_bps, streams),
            "changes": count_changes(after),
            "mbps": compute_mean_bps(after) / 1e6,
            "others_mbps": rival_bps / 1e6,
            "streams": streams,
            **link,
            "timelines": _shorten_timelines([rows]),
        }

    def _run_trace(self, case: TraceCase, tuner: str) -> dict[str, Value]:
        """Compare with an oracle that knows the trace: each packet that the path carries is full and useful."""
        steps = [Step(number * case.interval_s, BASE.with_rate(rate)) for number, rate in enumerate(case.rates_bps)]
        with self._set_up() as testbed, ExitStack() as changes:

            def start_trace() -> None:
                changes.enter_context(run_schedule(testbed.bed.change, steps))

            [rows] = testbed.run(
                [self._make_spec(tuner, case.warm + int(case.lasting_s / TICK_S))], changes={case.warm: start_trace}
            )
            changes.close()
            link = _describe_link(testbed)
        after = rows[case.warm :]
        lasting_s = sum(row["interval_s"] for row in after)
        oracle_bps = PAYLOAD_SHARE * compute_capacity_bits(case.rates_bps, case.interval_s, lasting_s) / lasting_s
        return {
            "trace_oracle_fraction": compute_mean_bps(after) / oracle_bps,
            "changes": count_changes(after),
            "mbps": compute_mean_bps(after) / 1e6,
            "oracle_mbps": oracle_bps / 1e6,
            "streams": statistics.fmean(row["streams"] for row in after),
            **link,
            "timelines": _shorten_timelines([rows]),
        }

    def _set_up(self, clients: int = 1) -> AbstractContextManager[TransferTestbed]:
        return set_up_transfers(BASE, clients=clients, seed=self.seed, folder=self.folder, prioritised=self.prioritised)

    def _make_spec(self, tuner: str, ticks: int, target_bps: float | None = None) -> TransferSpec:
        return TransferSpec(tuner=tuner, ticks=ticks, table=self.table, target_bps=target_bps)


def _describe_link(testbed: TransferTestbed) -> dict[str, Value]:
    """Return what the emulation dropped (queue), lost (at random) and failed to carry to the clients; and the machine's
    load.

    Raises
    ------
    MachineTooBusy : no metric of this run may be used.
    """
    testbed.require_sound()
    counters = asdict(testbed.bed.read_counters().down)
    return {name: counters[name] for name in ("forwarded", "dropped", "lost", "refused")} | {
        "late_s": [testbed.path.late.compute_quantile_s(share) for share in LATE_SHARES],
        "waited_share": round(testbed.share.waited, 4),
        "others_share": round(testbed.share.others, 4),
        "stolen_share": round(testbed.share.stolen, 4),
        "ahead": testbed.prioritised,
    }


def _shorten_timelines(runs: Sequence[Sequence[TickRow]]) -> list[list[Mapping[str, Value]]]:
    return [[{name: _shorten(value) for name, value in row.items()} for row in rows] for rows in runs]


def _shorten(value: object) -> Value:
    return float(f"{value:.5g}") if isinstance(value, float) and abs(value) < 1e5 else value  # type: ignore[return-value]
