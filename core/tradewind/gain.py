"""What tuning would have gained: logged transfers of a link against the setting that its model recommends.

Notation
--------
T_s, n_s  typical rate (geometric mean) of the n_s logged rows at setting s, bit/s
μ, φ, σ   predicted ln T at the recommended setting r, and the model's stated deviations there: of the fit, and of the
          noise of a single transfer; z is the standard normal quantile of the central 90 %
gain      exp(μ − mean ln T) over the rows at other settings than r; its interval has the variance
          φ² + σ²/m + s²/n: the model's, and the sampling noise of m transfers to come in a month and of n logged ones
saved     Σ_{s ≠ r} n_s · (1/T_s − exp(−μ)) over Σ_s n_s / T_s: the share of the time that the same bytes would not have
          taken. It is negative where logged settings were faster than the recommended one

What is not certified promises nothing: such data sets count with their time, and no saving.
`tradewind.learning.gain_check` tests the same gain on rows that the model never saw.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from tradewind.cluster import Leaf
from tradewind.model import LeafModel, ObservedSetting
from tradewind.parameters import Parameters
from tradewind.prediction import Interval, PredictedSetting, compute_z
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tiers.selection import choose_setting

DAYS_A_MONTH = 365.25 / 12
DAYS_ENOUGH = 28
"""Fewer days of logs are extrapolated to a month, and reports say so."""

S_AN_HOUR = 3600.0

LEAST_TRANSFERS = 20
"""Of similar files, that a model needs."""

_FASTEST = Sla(kind=SlaKind.MAX_THROUGHPUT)
_Z = compute_z(0.95)
_AXES = {"concurrency": "files at once", "parallelism": "streams of each file", "pipelining": "requests in flight"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedTotals:
    """Sums of all logged transfers of a link, from the first to the last day.

    ``duration_s`` : of the transfers, added up; those that ran at once count each. ``energy_j`` : of metered ones, at
    the link's usual ends; ``None`` where none was metered, or at different ends.
    """

    transfers: int
    bytes_moved: int
    duration_s: float
    first_day: date
    last_day: date
    energy_j: float | None = None

    def leave_out_energy(self) -> "MovedTotals":
        return replace(self, energy_j=None)

    @property
    def days(self) -> int:
        return (self.last_day - self.first_day).days + 1

    @property
    def months(self) -> float:
        return self.days / DAYS_A_MONTH

    @property
    def hours_a_month(self) -> float:
        return self.duration_s / S_AN_HOUR / self.months


@dataclass(frozen=True, slots=True)
class UsedSetting:
    """A setting of the logged transfers: rows, their typical rate, and their share of the time of the data sets."""

    parameters: Parameters
    rows: int
    rate_bps: float
    share_of_time: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BackTest:
    """Predicted and observed gain on later rows that ran at the setting then recommended; see the learning package."""

    predicted: Interval
    observed: float
    rows: int

    @property
    def is_within(self) -> bool:
        return self.predicted.low <= self.observed <= self.predicted.high


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetGain:
    """The gain for one kind of data set of a link, at the load that its logs had.

    ``used`` : logged settings, those with most time first. ``recommended`` : ``None``, as are the values that follow,
    where no setting is certified. ``rate_bps`` : its typical rate over the transfers of a month.
    ``weight`` : time of its rows, in any unit that all data sets of a link share. ``saved_share`` : of that time;
    ``energy_saved_share`` : of their energy, ``None`` where it is not known.
    """

    mean_file_bytes: float
    file_count: float
    rows: int
    used: tuple[UsedSetting, ...]
    weight: float
    recommended: Parameters | None = None
    rate_bps: Interval | None = None
    gain: Interval | None = None
    saved_share: Interval | None = None
    energy_saved_share: float | None = None
    back_test: BackTest | None = None
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkGain:
    """The gain of one link. ``saved_hours_a_month`` and ``saved_j_a_month`` are ``None`` where nothing is certified.

    ``waiting_logs`` : of a link without a model that no release has looked at yet.
    """

    moved: MovedTotals
    data_sets: tuple[DataSetGain, ...]
    saved_hours_a_month: Interval | None
    saved_j_a_month: float | None
    advice: tuple[str, ...] = ()
    waiting_logs: int | None = None

    @property
    def rank(self) -> tuple[bool, float]:
        """Return the sort key: most hours saved a month first, then links without an answer by their hours."""
        known = self.saved_hours_a_month
        return (known is None, -(self.moved.hours_a_month if known is None else known.mean))


def compute_link_gain(
    moved: MovedTotals, leaves: Sequence[LeafModel], reason: str | None = None, *, waiting_logs: int | None = None
) -> LinkGain:
    """Return the gain of a link.

    Savings of its data sets add up with fully correlated errors, which is the wider assumption.

    Parameters
    ----------
    leaves : of its model; none where it has no model.
    reason : why it has none.
    waiting_logs : its logs, where it has none because no release has looked at them yet.
    """
    total_rows = max(sum(leaf.leaf.row_count for leaf in leaves), 1)
    transfers_a_month = moved.transfers / moved.months
    data_sets = tuple(
        compute_data_set_gain(leaf, max(transfers_a_month * leaf.leaf.row_count / total_rows, 1.0)) for leaf in leaves
    )
    certified = [each for each in data_sets if each.saved_share is not None]
    if not certified:
        return LinkGain(
            moved=moved,
            data_sets=data_sets,
            saved_hours_a_month=None,
            saved_j_a_month=None,
            advice=() if leaves or (waiting_logs or 0) >= LEAST_TRANSFERS else (_advise_first_settings(reason),),
            waiting_logs=waiting_logs,
        )
    hours = moved.hours_a_month / sum(each.weight for each in data_sets)
    saved = Interval(
        *(hours * sum(each.weight * each.saved_share[i] for each in certified if each.saved_share) for i in range(3))
    )
    return LinkGain(
        moved=moved,
        data_sets=data_sets,
        saved_hours_a_month=saved,
        saved_j_a_month=_sum_saved_j(moved, data_sets, certified),
    )


def compute_data_set_gain(leaf: LeafModel, transfers_a_month: float) -> DataSetGain:
    """Return the gain of the data sets of one leaf."""
    choice = choose_setting(leaf.table, _FASTEST, dataset_bytes=1.0)
    centre = leaf.leaf
    times = [each.rows * math.exp(-each.log_throughput_mean) for each in leaf.observed]
    time = sum(times)
    used = tuple(
        UsedSetting(each.parameters, each.rows, math.exp(each.log_throughput_mean), own / time)
        for each, own in sorted(zip(leaf.observed, times, strict=True), key=lambda pair: -pair[1])
    )
    advice = _advise_other_settings(leaf.observed)
    weight = _compute_bytes(centre) * time
    size = 2.0**centre.log2_mean_file_bytes, 2.0**centre.log2_file_count
    if choice is None or not choice.feasible:
        return DataSetGain(
            mean_file_bytes=size[0],
            file_count=size[1],
            rows=centre.row_count,
            used=used,
            weight=weight,
            advice=(*advice, "no setting is certified: run more transfers at the settings that matter"),
        )
    recommended = choice.setting
    others = _leave_out(leaf.observed, recommended.parameters)
    fit_sd, noise_sd = _get_deviations(leaf, recommended)
    rate_sd = math.sqrt(fit_sd**2 + noise_sd**2 / transfers_a_month)
    return DataSetGain(
        mean_file_bytes=size[0],
        file_count=size[1],
        rows=centre.row_count,
        used=used,
        weight=weight,
        recommended=recommended.parameters,
        rate_bps=_build_interval(recommended.log_throughput_mean, rate_sd),
        gain=_compute_gain(others, recommended, rate_sd, noise_sd),
        saved_share=_compute_saved_share(others, recommended, rate_sd, time),
        energy_saved_share=_compute_energy_saved(leaf.observed, others, recommended),
        back_test=_read_back_test(leaf.accuracy),
        advice=(*advice, *_advise_beyond(leaf, recommended.parameters)),
    )


def _compute_bytes(centre: Leaf) -> float:
    """Return the bytes of a typical data set of the leaf."""
    return float(2.0 ** (centre.log2_mean_file_bytes + centre.log2_file_count))


def _leave_out(observed: Sequence[ObservedSetting], recommended: Parameters) -> Sequence[ObservedSetting]:
    """Return the logged settings that differ from the recommended one on an axis that it names."""
    known = recommended.list_known().items()
    return [each for each in observed if any(getattr(each.parameters, name) != value for name, value in known)]


def _get_deviations(leaf: LeafModel, recommended: PredictedSetting) -> tuple[float, float]:
    """Return φ and σ; models from before they were stored know their sum only, which then counts as φ."""
    fit_sd, noise_sd = leaf.accuracy.get("gain.fit_sd"), leaf.accuracy.get("gain.noise_sd")
    return (recommended.log_throughput_sd, 0.0) if fit_sd is None or noise_sd is None else (fit_sd, noise_sd)


def _build_interval(log_mean: float, sd: float) -> Interval:
    """Return the interval of a typical (geometric mean) value."""
    return Interval(math.exp(log_mean), math.exp(log_mean - _Z * sd), math.exp(log_mean + _Z * sd))


def _compute_gain(
    others: Sequence[ObservedSetting], recommended: PredictedSetting, rate_sd: float, noise_sd: float
) -> Interval:
    """Return the ratio of the recommended rate to the typical one at other settings; 1 where there are none."""
    rows = sum(each.rows for each in others)
    if not rows:
        return Interval(1.0, 1.0, 1.0)
    mean = sum(each.rows * each.log_throughput_mean for each in others) / rows
    between = sum(each.rows * (each.log_throughput_mean - mean) ** 2 for each in others) / rows
    sd = math.sqrt(rate_sd**2 + (between + noise_sd**2) / rows)
    return _build_interval(recommended.log_throughput_mean - mean, sd)


def _compute_saved_share(
    others: Sequence[ObservedSetting], recommended: PredictedSetting, rate_sd: float, time: float
) -> Interval:
    taken = sum(each.rows * math.exp(-each.log_throughput_mean) for each in others)
    rows = sum(each.rows for each in others)
    mean, low, high = (
        (taken - rows * math.exp(-(recommended.log_throughput_mean + z * rate_sd))) / time for z in (0.0, -_Z, _Z)
    )
    return Interval(mean, low, high)


def _compute_energy_saved(
    observed: Sequence[ObservedSetting], others: Sequence[ObservedSetting], recommended: PredictedSetting
) -> float | None:
    """Return the share of the energy that is saved, over the settings whose power was metered."""
    if recommended.log_power_mean is None:
        return None
    needed = math.exp(recommended.log_power_mean - recommended.log_throughput_mean)
    spent = sum(
        each.rows * each.power_w_mean * math.exp(-each.log_throughput_mean)
        for each in observed
        if each.power_w_mean is not None
    )
    saved = sum(
        each.rows * (each.power_w_mean * math.exp(-each.log_throughput_mean) - needed)
        for each in others
        if each.power_w_mean is not None
    )
    return saved / spent if spent else None


def _sum_saved_j(
    moved: MovedTotals, data_sets: Sequence[DataSetGain], certified: Sequence[DataSetGain]
) -> float | None:
    """Return the joules saved a month, data sets weighed by their time; ``None`` where one of them is not known.

    Data sets without a certified setting save none.
    """
    known = [(each.weight, each.energy_saved_share) for each in certified if each.energy_saved_share is not None]
    if moved.energy_j is None or len(known) < len(certified):
        return None
    share = sum(weight * saved for weight, saved in known) / sum(each.weight for each in data_sets)
    return moved.energy_j / moved.months * share


def _read_back_test(accuracy: Mapping[str, float]) -> BackTest | None:
    if "gain.rows" not in accuracy:
        return None
    return BackTest(
        predicted=_build_interval(accuracy["gain.predicted_log"], accuracy["gain.log_sd"]),
        observed=math.exp(accuracy["gain.observed_log"]),
        rows=int(accuracy["gain.rows"]),
    )


def _advise_first_settings(reason: str | None) -> str:
    because = f"{reason}. " if reason else ""
    return (
        f"{because}Run the same data with 1, 2, 4 and 8 files at once, five transfers each: "
        f"a model needs at least {LEAST_TRANSFERS} transfers at two settings or more"
    )


def _advise_other_settings(observed: Sequence[ObservedSetting]) -> tuple[str, ...]:
    """Return what to vary that all logged transfers have in common."""
    found = []
    for axis, words in _AXES.items():
        values = {getattr(each.parameters, axis) for each in observed} - {None}
        if len(values) == 1 and (value := max(values.pop(), 1)):
            tries = f"{value // 2} and {2 * value}" if value > 1 else f"{2 * value} and {4 * value}"
            found.append(f"{words}: {value} in all transfers, run some with {tries}")
    return tuple(found)


def _advise_beyond(leaf: LeafModel, recommended: Parameters) -> tuple[str, ...]:
    """Return what lies beyond the settings tried, where the fastest is the largest of them."""
    found = []
    for axis, words in _AXES.items():
        values, value = leaf.lattice.values.get(axis, ()), getattr(recommended, axis)
        if value and len(values) > 1 and value == max(values):
            found.append(f"{words}: the fastest setting has the most that were tried, run some with {2 * value}")
    return tuple(found)
