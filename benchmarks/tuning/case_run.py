"""One case under one tuner: a testbed, the transfers, the figures, and the timeline they are taken from."""

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
from benchmarks.testbed.soundness import LATE_SHARES, PAUSES_S, MachineTooBusy
from benchmarks.tuning.cases import BASE, AgreementCase, Case, CompetitorCase, FairnessCase, StepCase
from benchmarks.tuning.driver import Row
from benchmarks.tuning.figures import bps_between, changes, competitor_share, jain, mean_bps, oscillation, shortfall
from benchmarks.tuning.task import TICK_S
from benchmarks.tuning.transfers import Order, Yard, yard

PAYLOAD_SHARE = 1448 / 1500
"""Of a full packet, with time stamps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRunner:
    """How a case is run: from which table, where, over which losses; ``oracle_bps`` of a path.

    ``prioritised`` : whether this goes ahead of whatever else the machine does.
    """

    table: Path
    folder: Path
    seed: int
    oracle_bps: Callable[[PathSpec], float]
    prioritised: bool = False

    def run(self, case: Case, tuner: str) -> dict[str, Value]:
        """The row of a case: its figures, the link's counters, the timeline of each transfer.

        Raises
        ------
        MachineTooBusy : again and again.
        """
        for pause_s in PAUSES_S:
            try:
                return self._once(case, tuner)
            except MachineTooBusy as busy:
                sys.stderr.write(f"  {case.name} {tuner} is run again: {busy}\n")
                time.sleep(pause_s)
        return self._once(case, tuner)

    def _once(self, case: Case, tuner: str) -> dict[str, Value]:
        match case:
            case StepCase():
                return self._step(case, tuner)
            case AgreementCase():
                return self._agreement(case, tuner)
            case FairnessCase():
                return self._fairness(case, tuner)
            case CompetitorCase():
                return self._competitor(case, tuner)

    def _step(self, case: StepCase, tuner: str) -> dict[str, Value]:
        with self._yard() as ground:
            [rows] = ground.run(
                [self._order(tuner, case.ticks)], changes={case.warm: lambda: ground.bed.change(case.then)}
            )
            link = _link(ground)
        after = rows[case.warm + case.within :]
        oracle_bps = self.oracle_bps(case.then)
        return {
            "oracle_fraction_after_5_ticks": mean_bps(after) / oracle_bps,
            "oscillation": oscillation(after),
            "changes": changes(after),
            "mbps": mean_bps(after) / 1e6,
            "oracle_mbps": oracle_bps / 1e6,
            "streams": statistics.fmean(row["streams"] for row in after),
            **link,
            "timelines": _timelines([rows]),
        }

    def _agreement(self, case: AgreementCase, tuner: str) -> dict[str, Value]:
        with (
            self._yard(clients=2) as ground,
            run_cross_traffic(ground.bed, ground.bed.clients[1], case.traffic) as report,
        ):
            [rows] = ground.run([self._order(tuner, case.ticks, case.target_bps)])
            link, others = _link(ground), read_report(report)
        return {
            "sla_shortfall": shortfall(rows, case.target_bps),
            "changes": changes(rows),
            "mbps": mean_bps(rows) / 1e6,
            "target_mbps": case.target_bps / 1e6,
            "others_mbps": statistics.fmean(bps for _, bps in others) / 1e6,
            "streams": statistics.fmean(row["streams"] for row in rows),
            **link,
            "timelines": _timelines([rows]),
        }

    def _fairness(self, case: FairnessCase, tuner: str) -> dict[str, Value]:
        lasting_s = case.to_s + case.apart_s * (case.transfers - 1)
        orders = [self._order(tuner, 1 + int(lasting_s / TICK_S))] * case.transfers
        with self._yard(clients=case.transfers) as ground:
            runs = ground.run(orders, apart_s=case.apart_s)
            link = _link(ground)
        all_began_s = max(rows[0]["until_s"] - rows[0]["interval_s"] for rows in runs)
        rates = [bps_between(rows, all_began_s + case.from_s, all_began_s + case.to_s) for rows in runs]
        return {
            "jain": jain(rates),
            "changes": sum(changes(rows) for rows in runs),
            "mbps": sum(rates) / 1e6,
            "rates_mbps": [round(rate / 1e6, 2) for rate in rates],
            "streams": statistics.fmean(row["streams"] for rows in runs for row in rows),
            **link,
            "timelines": _timelines(runs),
        }

    def _competitor(self, case: CompetitorCase, tuner: str) -> dict[str, Value]:
        with self._yard(clients=2) as ground, ExitStack() as traffic:
            reports: list[Path] = []

            def begin() -> None:
                rival = run_cross_traffic(ground.bed, ground.bed.clients[1], CrossTraffic(flows=1, seed=self.seed))
                reports.append(traffic.enter_context(rival))

            [rows] = ground.run([self._order(tuner, case.ticks)], changes={case.warm: begin})
            link = _link(ground)
            rates = [bps for at_s, bps in read_report(*reports) if at_s > case.settle * TICK_S]
        after = rows[case.warm + case.settle :]
        streams, rival_bps = statistics.fmean(row["streams"] for row in after), statistics.fmean(rates)
        return {
            "competitor_share": competitor_share(rival_bps, PAYLOAD_SHARE * BASE.rate_bps, streams),
            "changes": changes(after),
            "mbps": mean_bps(after) / 1e6,
            "others_mbps": rival_bps / 1e6,
            "streams": streams,
            **link,
            "timelines": _timelines([rows]),
        }

    def _yard(self, clients: int = 1) -> AbstractContextManager[Yard]:
        return yard(BASE, clients=clients, seed=self.seed, folder=self.folder, prioritised=self.prioritised)

    def _order(self, tuner: str, ticks: int, target_bps: float | None = None) -> Order:
        return Order(tuner=tuner, ticks=ticks, table=self.table, target_bps=target_bps)


def _link(ground: Yard) -> dict[str, Value]:
    """What the emulation dropped (queue), lost (at random) and failed to carry towards the clients; and the machine.

    Raises
    ------
    MachineTooBusy : no figure of this run is worth keeping.
    """
    ground.require_sound()
    counters = asdict(ground.bed.counters().down)
    return {name: counters[name] for name in ("forwarded", "dropped", "lost", "refused")} | {
        "late_s": [ground.path.late.quantile_s(share) for share in LATE_SHARES],
        "waited_share": round(ground.share.waited, 4),
        "others_share": round(ground.share.others, 4),
        "stolen_share": round(ground.share.stolen, 4),
        "ahead": ground.prioritised,
    }


def _timelines(runs: Sequence[Sequence[Row]]) -> list[list[Mapping[str, Value]]]:
    return [[{name: _short(value) for name, value in row.items()} for row in rows] for rows in runs]


def _short(value: object) -> Value:
    return float(f"{value:.5g}") if isinstance(value, float) and abs(value) < 1e5 else value  # type: ignore[return-value]
