"""Small learned models for tests: a link whose throughput follows the prior, with partitions solved from it."""

import math
from uuid import UUID, uuid5

from services.application.models.learned_model import IndexedModel, Tier
from services.application.recommend.served_model import ServedLeaf, ServedModel
from services.application.recommend.snapshot import Index, Snapshot
from tradewind.cluster import Leaf
from tradewind.dataset import DataSet
from tradewind.model import LeafModel, ObservedSetting
from tradewind.parameters import Lattice
from tradewind.path import Path
from tradewind.prediction import PredictedSetting, Quantity, predict_merit
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.tiers.partitions import Partition
from tradewind.tiers.selection import choose_setting
from tradewind.tiers.setting_table import SettingTable
from tradewind.transfer import LinkKey
from tradewind.unknown_path import prior

PATH = Path(bandwidth_bps=1e8, rtt_s=0.06, loss_rate=2e-4)
LATTICE = Lattice({"concurrency": (1, 2, 4, 8, 16), "parallelism": (1, 2, 4), "pipelining": (1, 4, 16)})
LINK = LinkKey("origin", "laptop", None, "tradewind")
EMPTY_SNAPSHOT = Snapshot(Index(None, {}, {}))
NAMESPACE = UUID("018f0000-0000-7000-8000-00000000aaaa")


def table(dataset: DataSet, *, powered: bool = True, path: Path = PATH) -> SettingTable:
    def predicted(parameters):
        mean = prior.predict_throughput_bps(path, dataset, parameters)
        watts = 12.0 + 0.4 * parameters.streams + 5.0 * mean / 1e8
        return PredictedSetting(
            parameters=parameters,
            log_throughput_mean=math.log(mean) - 0.002 * parameters.streams,
            log_throughput_sd=0.08,
            log_power_mean=math.log(watts) if powered else None,
            log_power_sd=0.03 if powered else 0.0,
        )

    return SettingTable(tuple(map(predicted, LATTICE.list_settings())), 12.0 if powered else None)


def leaf_model(file_count: int, mean_bytes: int, *, powered: bool = True, tier: int = 0) -> LeafModel:
    dataset = DataSet(file_count=file_count, total_bytes=file_count * mean_bytes)
    predicted = table(dataset, powered=powered)
    partitions = [_single(predicted, dataset, SlaKind.MAX_THROUGHPUT)]
    if powered:
        partitions.append(_single(predicted, dataset, SlaKind.MIN_ENERGY))
    return LeafModel(
        leaf=Leaf(
            dataset_tier=tier,
            load_tier=0,
            log2_mean_file_bytes=math.log2(mean_bytes),
            log2_file_count=math.log2(file_count),
            load=0.1,
            row_count=120,
        ),
        lattice=LATTICE,
        table=predicted,
        observed=(ObservedSetting(next(LATTICE.list_settings()), 3, 16.0, 14.0),),
        partitions=tuple(partitions),
        accuracy={"accuracy": 0.9},
    )


def _single(predicted: SettingTable, dataset: DataSet, kind: SlaKind) -> Partition:
    sla = Sla(kind=kind)
    choice = choose_setting(predicted, sla, dataset_bytes=dataset.total_bytes)
    level = predict_merit(choice.setting, Quantity.THROUGHPUT, EnergyBasis.TOTAL).mean
    return Partition(
        kind=kind,
        confidence=sla.confidence,
        energy_basis=sla.energy_basis,
        lower=level,
        upper=level,
        closed=True,
        setting=choice.setting,
        probability=choice.probability,
        regret=0.0,
    )


def snapshot(*models: LeafModel, key: LinkKey = LINK, path: Path = PATH) -> Snapshot:
    """A release with one link, its model in memory."""
    model_id = uuid5(NAMESPACE, str(key))
    leaves = tuple(
        ServedLeaf.of(model, [Tier(uuid5(NAMESPACE, p.kind)) for p in model.partitions], path.bandwidth_bps)
        for model in models
    )
    powered = tuple(model.table.knows_power for model in models)
    indexed = IndexedModel(model_id, path, tuple(model.leaf for model in models), powered, uuid5(model_id, "link"))
    made = Snapshot(Index(7, {key: indexed}, {"origin.example.org": "origin"}))
    made.model_cache.put(model_id, ServedModel(path, 0.1, leaves))
    return made
