"""The answers to the questions, computed from the history in Python without any SQL."""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, date
from decimal import Decimal
from statistics import fmean, median
from typing import Any, TypeVar

from tests.integration.warehouse.questions.history import (
    CREDIT,
    ENDS,
    MODELS,
    TIER_NAMES,
    History,
    Moved,
    Promise,
)
from tradewind.model import LeafModel

Row = Mapping[str, Any]
T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
MARCH = (date(2026, 3, 1), date(2026, 3, 31))
GB, MBIT_S = 1e9, 1e6


def _group(values: Iterable[T], key: Callable[[T], K]) -> list[tuple[K, list[T]]]:
    """Return the values by their key, in the order of keys."""
    found: dict[K, list[T]] = defaultdict(list)
    for each in values:
        found[key(each)].append(each)
    return sorted(found.items(), key=lambda item: item[0])  # type: ignore[arg-type,return-value]


def _name_link(link: tuple[str, str]) -> Row:
    return {"source": link[0], "destination": link[1]}


def _sum_bytes(moved: Iterable[Moved]) -> int:
    return sum(each.moved_bytes for each in moved)


def _is_judged(promise: Promise) -> bool:
    return promise.feasible and promise.kept is not None


def volume_by_day(history: History) -> Iterable[Row]:
    in_march = [each for each in history.succeeded if MARCH[0] <= each.started_at.date() <= MARCH[1]]
    for (link, day), moved in _group(in_march, lambda each: (each.link, each.started_at.date())):
        yield {
            **_name_link(link), "mover": "tradewind", "day": day.isoformat(), "transfers": len(moved),
            "gb": _sum_bytes(moved) / GB,
            "mbit_s": _sum_bytes(moved) * 8 / sum(each.duration_s for each in moved) / MBIT_S,
        }  # fmt: skip


def best_settings(history: History) -> Iterable[Row]:
    def size_class(moved: Moved) -> int:
        dataset = moved.record["dataset"]
        return math.floor(math.log10(dataset["total_bytes"] / dataset["file_count"]))

    for (link, power), moved in _group(history.succeeded, lambda each: (each.link, size_class(each))):
        tried = defaultdict(list)
        for each in moved:
            tried[each.settings].append(each.rate_bps)
        usual = {setting: median(rates) for setting, rates in tried.items() if len(rates) >= 3}
        if not usual:
            continue
        best = max(usual, key=lambda setting: usual[setting])
        yield {
            **_name_link(link), "mover": "tradewind", "power_of_ten": power,
            **dict(zip(("concurrency", "parallelism", "pipelining"), best, strict=True)),
            "transfers": len(tried[best]), "median_mbit_s": usual[best] / MBIT_S,
        }  # fmt: skip


def joules_by_ends(history: History) -> Iterable[Row]:
    def name_ends(moved: Moved) -> str:
        ends = [each["host"] for each in moved.record["energy"]]
        return "both" if len(ends) == 2 else ends[0]

    metered = [each for each in history.succeeded if each.record["energy"]]
    for (link, ends), moved in _group(metered, lambda each: (each.link, name_ends(each))):
        energy_j = sum(end["total_j"] for each in moved for end in each.record["energy"])
        yield {
            **_name_link(link), "energy_ends": ends, "transfers": len(moved),
            "j_per_gb": energy_j / (_sum_bytes(moved) / GB),
        }  # fmt: skip


def slas_by_tier(history: History) -> Iterable[Row]:
    judged = [(moved.link, promise) for moved, promise in history.served if _is_judged(promise)]
    for tier, promises in _group(judged, lambda each: _name_tier(each[0], each[1].tier)):
        missed = sum(not each.kept for _, each in promises)
        yield {"tier": tier, "transfers": len(promises), "missed": missed, "met": 1 - missed / len(promises)}


def _name_tier(link: tuple[str, str], tier: tuple[int, int]) -> str:
    leaf, part = tier
    partition = MODELS[-1].leaves[leaf].partitions[part]
    limits = f"{partition.lower / 1e6:g} to {partition.upper / 1e6:g} Mbit/s"
    return TIER_NAMES[leaf][part] or f"throughput at least {limits} at 90 %, {link[0]} to {link[1]}"


def calibration(history: History) -> Iterable[Row]:
    judged = [promise for _, promise in history.served if _is_judged(promise)]
    for about, promises in _group(judged, lambda each: round(each.probability, 1)):
        variance = fmean(each.probability * (1 - each.probability) for each in promises)
        yield {
            "about": about, "transfers": len(promises), "promised": fmean(each.probability for each in promises),
            "met": fmean(bool(each.kept) for each in promises), "standard_error": math.sqrt(variance / len(promises)),
        }  # fmt: skip


def revenue(history: History) -> Iterable[Row]:
    billed = [(each, promise, promise.amount) for each, promise in history.served
              if each.status == "succeeded" and promise.amount is not None]  # fmt: skip
    for (customer, month), sales in _group(billed, lambda sale: (sale[0].customer, f"{sale[0].started_at:%Y-%m}")):
        amount = sum((sale[2] for sale in sales), Decimal())
        credit = sum((sale[2] * CREDIT for sale in sales if _is_judged(sale[1]) and not sale[1].kept), Decimal())
        yield {
            "customer": customer, "month": month, "currency": "EUR", "transfers": len(sales),
            "amount": float(amount), "credit": float(credit), "revenue": float(amount - credit),
        }  # fmt: skip


def failure_reasons(history: History) -> Iterable[Row]:
    def find_reason(moved: Moved, promise: Promise) -> str:
        if moved.status != "succeeded":
            return moved.status
        if not _is_judged(promise) or promise.kept:
            return "none"
        reasons = {"deadline": "too_late", "energy_at_most": "too_much_energy", "power_at_most": "too_much_power"}
        return reasons.get(promise.kind, "too_slow")

    found = _group(history.served, lambda each: find_reason(*each))
    for reason, served in sorted(found, key=lambda item: (-len(item[1]), item[0])):
        yield {"reason": reason, "transfers": len(served), "share": len(served) / len(history.served)}


def controller_effect(history: History) -> Iterable[Row]:
    watched = [
        (each.link, each.rates_bps[-2] / each.rates_bps[0])
        for each, _ in history.served
        if len(each.rates_bps) >= 3 and MARCH[0] <= each.started_at.date() <= MARCH[1]
    ]
    for link, changes in _group(watched, lambda each: each[0]):
        ratios = [ratio for _, ratio in changes]
        faster = fmean(ratio > 1 for ratio in ratios)
        yield {**_name_link(link), "transfers": len(ratios), "median_ratio": median(ratios), "faster": faster}


def model_errors(history: History) -> Iterable[Row]:
    judged = [(each.link, promise.tier[0], each.rate_bps / promise.predicted_bps - 1)
              for each, promise in history.served if each.status == "succeeded"]  # fmt: skip
    for (link, dataset_tier), found in _group(judged, lambda each: each[:2]):
        errors = [error for _, _, error in found]
        yield {
            **_name_link(link), "dataset_tier": dataset_tier, "load_tier": 0, "transfers": len(errors),
            "median_error": median(errors), "median_absolute_error": median(map(abs, errors)),
        }  # fmt: skip


def limited_by_users(history: History) -> Iterable[Row]:
    for link, moved in _group(history.succeeded, lambda each: each.link):
        many_state_cores = sum("cores" in each.record["parameters"] for each in moved) >= 0.9 * len(moved)

        def is_limited(each: Moved, usual: bool = many_state_cores) -> bool:
            limit_bps = each.record["parameters"].get("nic_bps")
            slow = limit_bps is not None and (each.bandwidth_bps is None or limit_bps <= each.bandwidth_bps)
            return slow or ("cores" in each.record["parameters"] and not usual)

        limited = fmean(map(is_limited, moved))
        yield {**_name_link(link), "mover": "tradewind", "transfers": len(moved), "limited": limited}


def codec_savings(history: History) -> Iterable[Row]:
    for link, moved in _group(history.succeeded, lambda each: each.link):
        packed = [each for each in moved if "codec" in each.record["parameters"]]
        plain = [each for each in moved if "codec" not in each.record["parameters"]]
        packed_gb, packed_s = _sum_bytes(packed) / GB, sum(each.duration_s for each in packed)
        plain_s_per_gb = sum(each.duration_s for each in plain) / (_sum_bytes(plain) / GB)
        yield {
            **_name_link(link), "codec": "zstd", "gb": packed_gb, "s_per_gb": packed_s / packed_gb,
            "plain_s_per_gb": plain_s_per_gb, "hours_saved": (plain_s_per_gb * packed_gb - packed_s) / 3600,
        }  # fmt: skip


def time_of_day(history: History) -> Iterable[Row]:
    usual = {link: median(each.rate_bps for each in moved)
             for link, moved in _group(history.succeeded, lambda each: each.link)}  # fmt: skip
    for hour, moved in _group(history.succeeded, lambda each: each.started_at.astimezone(UTC).hour):
        of_usual = median(each.rate_bps / usual[each.link] for each in moved)
        yield {"hour": hour, "transfers": len(moved), "gb": _sum_bytes(moved) / GB, "of_usual": of_usual}


def slowest_endpoints(history: History) -> Iterable[Row]:
    at_ends = [(end, each, each.bandwidth_bps) for each in history.succeeded for end in each.link
               if each.bandwidth_bps is not None]  # fmt: skip
    rows: Sequence[Row] = [
        {
            "endpoint": endpoint, "transfers": len(found),
            "share_of_bandwidth": median(each.rate_bps / bandwidth_bps for _, each, bandwidth_bps in found),
            "median_mbit_s": median(each.rate_bps for _, each, _ in found) / MBIT_S,
        }
        for endpoint, found in _group(at_ends, lambda each: each[0])
    ]  # fmt: skip
    return sorted(rows, key=lambda row: row["share_of_bandwidth"])[:10]


def settings_by_customer(history: History) -> Iterable[Row]:
    def in_order(moved: Moved) -> tuple[float, ...]:
        return tuple(math.inf if each is None else each for each in moved.settings)

    for customer, moved in _group(history.moved, lambda each: each.customer):
        for _, same in sorted(_group(moved, in_order), key=lambda item: -len(item[1])):
            setting = dict(zip(("concurrency", "parallelism", "pipelining"), same[0].settings, strict=True))
            yield {
                "customer": customer, "mover": "tradewind", **setting, "transfers": len(same),
                "gb": _sum_bytes(same) / GB,
            }  # fmt: skip


def release_changes(history: History) -> Iterable[Row]:
    def find_best(leaf: LeafModel) -> tuple[float, Mapping[str, Any]]:
        best = max((each for each in leaf.table.settings if each.certified), key=lambda each: each.log_throughput_mean)
        return math.exp(best.log_throughput_mean) / MBIT_S, {
            "concurrency": best.parameters.concurrency, "parallelism": best.parameters.parallelism, "pipelining": None,
        }  # fmt: skip

    earlier, later = history.models
    for source, destination, _ in sorted(ENDS, key=lambda ends: ends[:2]):
        for before, now in zip(earlier.leaves, later.leaves, strict=True):
            (old_mbit_s, old), (new_mbit_s, new) = find_best(before), find_best(now)
            yield {
                **_name_link((source, destination)), "dataset_tier": now.leaf.dataset_tier, "load_tier": 0,
                "mbit_s": new_mbit_s, "mbit_s_before": old_mbit_s, **new,
                **{f"{name}_before": value for name, value in old.items()},
            }  # fmt: skip


ANSWERS: Mapping[int, Callable[[History], Iterable[Row]]] = dict(
    enumerate(
        (
            volume_by_day, best_settings, joules_by_ends, slas_by_tier, calibration, revenue, failure_reasons,
            controller_effect, model_errors, limited_by_users, codec_savings, time_of_day, slowest_endpoints,
            settings_by_customer, release_changes,
        ),
        start=1,
    )
)  # fmt: skip
"""By the number of the question on the page."""
