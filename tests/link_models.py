"""A small model of a link for tests: every field set, two leaves, one of them without power."""

from datetime import UTC, datetime
from types import MappingProxyType

from services.application.models.gate import Verdict
from tradewind.cluster import Leaf
from tradewind.energy.ends import EndPower
from tradewind.energy.measured import Host
from tradewind.load_effect import LoadEffect
from tradewind.model import LeafModel, LinkModel, ObservedSetting
from tradewind.parameters import Lattice, Parameters
from tradewind.path import Path
from tradewind.prediction import PredictedSetting
from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.tiers.partitions import Partition
from tradewind.tiers.setting_table import SettingTable

FITTED_AT = datetime(2026, 4, 1, tzinfo=UTC)
LATTICE = Lattice(MappingProxyType({"concurrency": (1, 2, 4), "parallelism": (1, 2)}))


VERDICT = Verdict(
    accuracy=0.87,
    coverage90=0.9,
    held_out_rows=300,
    compared_rows=40,
    error=0.08,
    error_of_current=0.09,
    reasons=(),
)


def leaf_model(dataset_tier: int, *, metered: bool) -> LeafModel:
    settings = tuple(
        PredictedSetting(
            parameters=parameters,
            log_throughput_mean=18.0 + 0.1 * n,
            log_throughput_sd=0.1 / 3,
            log_power_mean=3.5 + 0.01 * n if metered else None,
            log_power_sd=0.05 if metered else 0.0,
            log_covariance=1e-4 if metered else 0.0,
            certified=n != 5,
        )
        for n, parameters in enumerate(LATTICE.list_settings())
    )
    partitions = tuple(
        Partition(
            kind=SlaKind.THROUGHPUT_AT_LEAST,
            confidence=0.9,
            energy_basis=EnergyBasis.TOTAL,
            lower=1e7 * n,
            upper=1e7 * (n + 1),
            closed=n == 1,
            setting=settings[n],
            probability=0.93,
            regret=0.01,
        )
        for n in range(2)
    )
    return LeafModel(
        leaf=Leaf(
            dataset_tier=dataset_tier,
            load_tier=0,
            log2_mean_file_bytes=20.5 + dataset_tier,
            log2_file_count=7.25,
            load=0.2,
            row_count=500,
        ),
        lattice=LATTICE,
        table=SettingTable(settings, 21.5 if metered else None),
        observed=(ObservedSetting(Parameters(concurrency=2, parallelism=1), 40, 18.1, 33.3 if metered else None),),
        partitions=partitions,
        accuracy={"accuracy": 0.87, "coverage90": 0.9},
        queueing_delay_p90_s={1: 0.01, 4: 0.02},
        loss_baseline=1e-5,
        load_effect=LoadEffect(
            loads=(0.05, 0.2, 0.6),
            log_throughput=(0.15, 0.0, -0.65),
            log_power=(0.02, 0.0, -0.1) if metered else None,
        ),
        power_by_end={Host.SOURCE: EndPower(20.5, 12.0), Host.DESTINATION: EndPower(14.5)} if metered else {},
    )


def link_model(rows: int = 1000) -> LinkModel:
    return LinkModel(
        path=Path(bandwidth_bps=1e9, rtt_s=0.06, loss_rate=1e-5),
        leaves=(leaf_model(0, metered=True), leaf_model(1, metered=False)),
        rows=rows,
        load_median=0.25,
        unknown_bps=1e8,
        failures=("leaf 2: too few rows",),
    )
