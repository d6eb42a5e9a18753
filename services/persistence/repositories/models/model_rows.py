"""Models of links as rows: how a leaf is written and read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from types import MappingProxyType
from typing import Any

from sqlalchemy import Row

from services.application.models.learned_model import (
    ClusterOutline,
    ModelOutline,
    ReviewedBounds,
    StoredLeaf,
    StoredModel,
    Tier,
)
from tradewind.cluster import Leaf
from tradewind.energy.ends import EndPower
from tradewind.energy.measured import Host
from tradewind.load_effect import LoadEffect
from tradewind.model import LeafModel, ObservedSetting
from tradewind.parameters import UNKNOWN_PARAMETERS, Lattice, Parameters
from tradewind.path import Path
from tradewind.prediction import PredictedSetting
from tradewind.sla.kinds import DEFAULT_CONFIDENCE, EnergyBasis, SlaKind
from tradewind.tiers.partitions import Partition
from tradewind.tiers.setting_table import SettingTable

CENTRE = ("dataset_tier", "load_tier", "log2_mean_file_bytes", "log2_file_count", "load")
_PREDICTED = tuple(each.name for each in fields(PredictedSetting) if each.name != "parameters")
OF_SETTINGS = (
    "log_throughput_mean",
    "log_throughput_sd",
    "log_power_mean",
    "log_power_sd",
    "log_covariance",
    "certified",
)
"""Columns of a surface with a value for each setting of its lattice."""

PATH = ("bandwidth_bps", "rtt_s", "min_rtt_s", "loss_rate", "buffer_bytes")


def to_cluster_row(leaf: LeafModel) -> dict[str, Any]:
    values = asdict(leaf.leaf)
    return {
        **values,
        "rows": values.pop("row_count"),
        "accuracy": dict(leaf.accuracy),
        "queueing_delay_p90_s": {str(streams): delay for streams, delay in leaf.queueing_delay_p90_s.items()},
        "loss_baseline": leaf.loss_baseline,
    }


def to_surface_row(leaf: LeafModel) -> dict[str, Any]:
    settings = leaf.table.settings
    powered = all(setting.log_power_mean is not None for setting in settings)
    return {
        "axes": {axis: list(values) for axis, values in leaf.lattice.values.items()},
        "log_throughput_mean": [setting.log_throughput_mean for setting in settings],
        "log_throughput_sd": [setting.log_throughput_sd for setting in settings],
        "log_power_mean": [setting.log_power_mean for setting in settings] if powered else None,
        "log_power_sd": [setting.log_power_sd for setting in settings] if powered else None,
        "log_covariance": [setting.log_covariance for setting in settings] if powered else None,
        "certified": [setting.certified for setting in settings],
        "observed": [
            {
                "parameters": each.parameters.list_known(),
                "rows": each.rows,
                "log_throughput_mean": each.log_throughput_mean,
                "power_w_mean": each.power_w_mean,
            }
            for each in leaf.observed
        ],
        "base_power_w": leaf.table.base_power_w,
        "load_effect": None if leaf.load_effect is None else asdict(leaf.load_effect),
        "power_by_end": {host: each._asdict() for host, each in leaf.power_by_end.items()} or None,
    }


def to_partition_row(partition: Partition, tier: Tier) -> dict[str, Any]:
    # Field by field: a model has a thousand partitions, and `asdict` would copy each value in depth.
    predicted = {name: getattr(partition.setting, name) for name in _PREDICTED}
    return {
        "kind": partition.kind,
        "confidence": partition.confidence,
        "energy_basis": partition.energy_basis,
        "lower": partition.lower,
        "upper": partition.upper,
        "closed": partition.closed,
        "parameters": partition.parameters.list_known(),
        "predicted": predicted,
        "probability": partition.probability,
        "regret": partition.regret,
        "tier_id": tier.id,
        "needs_review": tier.needs_review,
        "reviewed_lower": None if tier.reviewed is None else tier.reviewed.lower,
        "reviewed_upper": None if tier.reviewed is None else tier.reviewed.upper,
    }


def to_stored_model(row: Row[Any], leaves: Iterable[StoredLeaf]) -> StoredModel:
    return StoredModel(
        id=row.id,
        link_id=row.link_id,
        fitted_at=row.fitted_at,
        path=to_path(row),
        rows=row.rows,
        load_median=row.load_median,
        unknown_bps=row.unknown_bps,
        failures=tuple(row.failures),
        leaves=tuple(leaves),
    )


def to_model_outline(model: Row[Any], clusters: Sequence[Row[Any]]) -> ModelOutline:
    return ModelOutline(
        fitted_at=model.fitted_at,
        path=to_path(model),
        rows=model.rows,
        load_median=model.load_median,
        failures=tuple(model.failures),
        clusters=tuple(
            ClusterOutline(
                cluster_id=row.id,
                leaf=to_centre(row),
                accuracy=row.accuracy,
                settings_seen=row.settings_seen,
                fastest_bps=_build_throughputs(row).find_certifiable_throughput_bps(DEFAULT_CONFIDENCE),
            )
            for row in clusters
        ),
    )


def _build_throughputs(row: Row[Any]) -> SettingTable:
    """Return a table of throughput only, which is all that its level needs: building thousands of settings takes
    long.
    """
    moments = zip(row.log_throughput_mean, row.log_throughput_sd, row.certified, strict=True)
    return SettingTable(
        tuple(
            PredictedSetting(
                parameters=UNKNOWN_PARAMETERS, log_throughput_mean=mean, log_throughput_sd=sd, certified=certified
            )
            for mean, sd, certified in moments
        )
    )


def to_path(row: Row[Any]) -> Path:
    return Path(**{name: getattr(row, name) for name in PATH})


def to_centre(row: Row[Any]) -> Leaf:
    return Leaf(
        dataset_tier=row.dataset_tier,
        load_tier=row.load_tier,
        log2_mean_file_bytes=row.log2_mean_file_bytes,
        log2_file_count=row.log2_file_count,
        load=row.load,
        row_count=row.leaf_rows,
    )


def to_stored_leaf(row: Row[Any], partitions: Sequence[Row[Any]]) -> StoredLeaf:
    lattice = _read_lattice(row)
    settings = _list_settings(row, enumerate(lattice.list_settings()))
    tiers = tuple(map(to_partition, partitions))
    return StoredLeaf(row.id, _build_leaf(row, lattice, settings, tiers), tuple(map(to_tier, partitions)))


def to_fastest_leaf(row: Row[Any]) -> LeafModel:
    """Return a leaf whose table has the fastest of its certified settings alone; several where they are equal."""
    lattice = _read_lattice(row)
    return _build_leaf(row, lattice, _list_settings(row, enumerate(map(lattice.get_setting, row.places or ()))))


def _read_lattice(row: Row[Any]) -> Lattice:
    return Lattice(MappingProxyType({axis: tuple(values) for axis, values in row.axes.items()}))


def _build_leaf(
    row: Row[Any], lattice: Lattice, settings: tuple[PredictedSetting, ...], partitions: tuple[Partition, ...] = ()
) -> LeafModel:
    return LeafModel(
        leaf=to_centre(row),
        lattice=lattice,
        table=SettingTable(settings, row.base_power_w),
        observed=tuple(
            ObservedSetting(**(each | {"parameters": Parameters(**each["parameters"])})) for each in row.observed
        ),
        partitions=partitions,
        accuracy=row.accuracy,
        queueing_delay_p90_s={int(streams): delay for streams, delay in row.queueing_delay_p90_s.items()},
        loss_baseline=row.loss_baseline,
        load_effect=_load_effect(row.load_effect),
        power_by_end={Host(host): EndPower(**each) for host, each in (row.power_by_end or {}).items()},
    )


def _load_effect(stored: Mapping[str, list[float] | None] | None) -> LoadEffect | None:
    if stored is None:
        return None
    return LoadEffect(**{name: None if values is None else tuple(values) for name, values in stored.items()})  # type: ignore[arg-type]  # as it was written


def _list_settings(row: Row[Any], places: Iterable[tuple[int, Parameters]]) -> tuple[PredictedSetting, ...]:
    """Return settings with their values, which stand at these places."""
    means, deviations, certified = row.log_throughput_mean, row.log_throughput_sd, row.certified
    powers, power_deviations, covariances = row.log_power_mean, row.log_power_sd, row.log_covariance
    is_powered = bool(powers) and powers[0] is not None
    return tuple(
        PredictedSetting(
            parameters=parameters,
            log_throughput_mean=means[n],
            log_throughput_sd=deviations[n],
            log_power_mean=powers[n] if is_powered else None,
            log_power_sd=power_deviations[n] if is_powered else 0.0,
            log_covariance=covariances[n] if is_powered else 0.0,
            certified=certified[n],
        )
        for n, parameters in places
    )


def to_tier(row: Row[Any]) -> Tier:
    """Return the identity of a partition; its name, where the row has it."""
    reviewed = None if row.reviewed_lower is None else ReviewedBounds(row.reviewed_lower, row.reviewed_upper)
    return Tier(row.tier_id, row.needs_review, getattr(row, "name", None), reviewed=reviewed)


def to_partition(row: Row[Any]) -> Partition:
    return Partition(
        kind=SlaKind(row.kind),
        confidence=row.confidence,
        energy_basis=EnergyBasis(row.energy_basis),
        lower=row.lower,
        upper=row.upper,
        closed=row.closed,
        setting=PredictedSetting(parameters=Parameters(**row.parameters), **row.predicted),
        probability=row.probability,
        regret=row.regret,
    )
