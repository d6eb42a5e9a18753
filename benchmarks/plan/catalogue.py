"""The benchmarks in the order in which they are measured, and what each says of the sources.

A benchmark belongs here as soon as its figures are published. `Planned.measures` names what its figures depend on: a
change there makes its record stale.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from benchmarks.support.engine_files import DOWNLOADING, UPLOADING

ENGINE = ("clients/python/tradewind_agent/engine", "clients/python/tradewind_agent/copy")
CONTROLLER = ("core/tradewind/tuning", "core/tradewind/learning", "core/tradewind/model.py", "core/tradewind/tiers")
LEARNING = ("core/tradewind/learning", "core/tradewind/grid", "core/tradewind/cluster.py", "core/tradewind/model.py")
SERVICE = ("services/application", "services/api", "services/persistence", "services/queue")
EMULATION = ("benchmarks/testbed",)


class Better(StrEnum):
    """Which values of a figure are better."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One benchmark of the plan.

    Attributes
    ----------
    minutes : what the full form usually takes on two cores, until a record says it; 0 where nobody has measured it.
    measures : files and folders of the project that its figures depend on.
    figures : of the quick form, those that are compared with their record: ratios of one run, or counts of faults.
    needs_data : whether it measures nothing, or less, without ``--data``.
    is_quick_without_data : whether its quick form has all ``figures`` without it.
    is_resumable : whether it goes on from rows of its own, so that a record has the time of the last part alone.
    """

    name: str
    minutes: int
    measures: tuple[str, ...]
    figures: Mapping[str, Better]
    needs_data: bool = False
    is_quick_without_data: bool = False
    is_resumable: bool = False


def _figures(*, lower: tuple[str, ...] = (), higher: tuple[str, ...] = ()) -> Mapping[str, Better]:
    return MappingProxyType(dict.fromkeys(lower, Better.LOWER) | dict.fromkeys(higher, Better.HIGHER))


PLAN = (
    Planned(
        name="surfaces",
        minutes=30,
        measures=(*LEARNING, "benchmarks/surfaces"),
        figures=_figures(lower=("regret_median",), higher=("accuracy_median", "wins_vs_gbm")),
        needs_data=True,
    ),
    Planned(
        name="api",
        minutes=10,
        measures=(*SERVICE, "core/tradewind/wire", "benchmarks/api"),
        figures=_figures(higher=("recommend_ratio", "heartbeat_ratio")),
    ),
    Planned(
        name="ingest",
        minutes=5,
        measures=(
            *SERVICE,
            "core/tradewind/wire",
            "clients/python/tradewind_agent/history/importers",
            "benchmarks/ingest.py",
            "benchmarks/import_speed.py",
        ),
        figures=_figures(higher=("ratio", "gridftp_ratio_to_parsing", "rclone_ratio_to_parsing")),
    ),
    Planned(
        name="pipeline",
        minutes=15,
        measures=("workers", *LEARNING, *SERVICE, "benchmarks/pipeline.py"),
        figures=_figures(lower=("growth_exponent",)),
    ),
    Planned(
        name="scale",
        minutes=90,
        measures=("workers", *LEARNING, *SERVICE, "benchmarks/scale"),
        figures=_figures(lower=("growth_exponent", "incremental_share")),
    ),
    Planned(
        name="pages",
        minutes=20,
        measures=("services/admin", *SERVICE, "benchmarks/pages.py"),
        figures=_figures(lower=("overview_vs_straight", "new_day_share")),
    ),
    Planned(
        name="warehouse",
        minutes=15,
        measures=(*SERVICE, "clients/python/tradewind_agent/service", "benchmarks/warehouse.py"),
        figures=_figures(higher=("arrow_ratio", "export_ratio")),
    ),
    Planned(
        name="faults",
        minutes=12,
        measures=(*SERVICE, "workers", "benchmarks/faults"),
        figures=_figures(lower=("lost_rows", "duplicate_rows")),
    ),
    Planned(
        name="load",
        minutes=15,
        measures=(*SERVICE, "workers", "benchmarks/load"),
        figures=_figures(lower=("error_rate",)),
    ),
    Planned(
        name="fuzz",
        minutes=30,
        measures=("clients/python/tradewind_agent/history", *ENGINE, "core/tradewind/wire", "benchmarks/fuzz"),
        figures=_figures(lower=("server_errors", "failures", "logs_silently_wrong")),
    ),
    Planned(
        name="attack",
        minutes=15,
        measures=(*SERVICE, "services/admin", "benchmarks/attack"),
        figures=_figures(lower=("cases_lost", "victim_errors")),
    ),
    Planned(
        name="gain",
        minutes=5,
        measures=(*LEARNING, "core/tradewind/gain.py", "benchmarks/gain"),
        figures=_figures(lower=("median_absolute_error",)),
        needs_data=True,
    ),
    Planned(
        name="power_models",
        minutes=1,
        measures=("core/tradewind/energy", "benchmarks/power_models.py"),
        figures=_figures(lower=("cpu_error_mean",), higher=("within_goal",)),
        needs_data=True,
    ),
    Planned(
        name="engine",
        minutes=20,
        measures=(*ENGINE, "benchmarks/engine"),
        figures=_figures(
            lower=(
                "small_cpu_vs_rclone",
                "small_cpu_vs_curl",
                "small_wall_vs_rclone",
                "large_cpu_vs_curl",
                "large_wall_vs_curl",
                "upload_small_cpu_vs_curl",
                "upload_large_cpu_vs_curl",
            )
        ),
    ),
    Planned(
        name="s3",
        minutes=960,
        measures=(*ENGINE, "clients/python/tradewind_agent/stores", *CONTROLLER, *EMULATION, "benchmarks/s3"),
        figures=_figures(
            lower=("small_cpu_vs_awscli", "small_cpu_vs_rclone", "uploads_left_open", "wrong_objects"),
            higher=("large_rate_vs_rclone",),
        ),
        needs_data=True,
        is_quick_without_data=True,
        is_resumable=True,
    ),
    Planned(
        name="compression",
        minutes=80,
        measures=("core/tradewind/compression", *ENGINE, "benchmarks/compression"),
        figures=_figures(lower=("choice_regret_median", "auto_regret_median"), higher=("best_vs_gzip6",)),
        needs_data=True,
    ),
    Planned(
        name="energy",
        minutes=60,
        measures=("core/tradewind/energy", *CONTROLLER, "benchmarks/energy"),
        figures=_figures(
            lower=("dynamic_vs_fastest_median", "total_vs_fastest_median"), higher=("throughput_vs_fastest_min",)
        ),
        needs_data=True,
    ),
    Planned(
        name="mobile",
        minutes=120,
        measures=("core/tradewind/mobile", "core/tradewind/energy", *ENGINE, *EMULATION, "benchmarks/mobile"),
        figures=_figures(higher=("html_saving", "tail_saving")),
    ),
    Planned(
        name="transport",
        minutes=60,
        measures=("clients/python/tradewind_agent/transport", *EMULATION, "benchmarks/transport"),
        figures=_figures(
            lower=("fld_rounds_500kB",),
            higher=("fld_vs_cubic_short_flows", "fld_even_share_fraction_median", "page_net_transfer_gain"),
        ),
    ),
    Planned(
        name="tuning",
        minutes=180,
        measures=(*CONTROLLER, *DOWNLOADING, *EMULATION, "benchmarks/tuning"),
        figures=_figures(
            lower=("sla_shortfall", "oscillation"),
            higher=("oracle_fraction_after_5_ticks", "jain", "competitor_share"),
        ),
        needs_data=True,
        is_quick_without_data=True,
        is_resumable=True,
    ),
    Planned(
        name="wan",
        minutes=890,
        measures=(*CONTROLLER, *DOWNLOADING, *UPLOADING, *EMULATION, "benchmarks/wan"),
        figures=_figures(
            lower=("failed_runs",),
            higher=("oracle_fraction_min", "alone_vs_best_default_min", "upload_oracle_fraction_min"),
        ),
        needs_data=True,
        is_resumable=True,
    ),
    Planned(
        name="papers",
        minutes=75,
        measures=("core/tradewind", *ENGINE, *EMULATION, "benchmarks/papers"),
        figures=_figures(lower=("differs", "not_shown", "without_verdict"), higher=("reproduced",)),
        needs_data=True,
    ),
)
