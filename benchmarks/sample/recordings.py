"""The paths, files and settings that the sample data are recorded with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from benchmarks.demo.files import MB, PAGES, PHOTOS, FileClass
from benchmarks.support.report import ROOT
from benchmarks.testbed.path_spec import PathSpec

FOLDER = ROOT / "benchmarks" / "records" / "sample"
TUNED = FOLDER / "tuned.ndjson"
"""Completions of transfers that were tuned while they ran, one a line."""

SOURCE = "sample-origin"

ARCHIVES = FileClass("archives", median_bytes=6 * MB, log_sd=0.25, low_bytes=4 * MB, high_bytes=10 * MB)

Setting = tuple[int, int, int]
"""Files at once, streams a file, requests in flight."""

PAGE_SETTINGS: Sequence[Setting] = tuple((cc, 1, pp) for cc in (1, 2, 4, 8, 16) for pp in (1, 8))
PHOTO_SETTINGS: Sequence[Setting] = tuple((cc, p, 1) for cc in (1, 2, 4, 8) for p in (1, 2, 4) if cc * p <= 16)
ARCHIVE_SETTINGS: Sequence[Setting] = tuple((cc, p, 1) for cc in (1, 2, 3) for p in (1, 2, 4, 8))
RCLONE_SETTINGS: Sequence[Setting] = tuple((cc, 1, 1) for cc in (1, 2, 4, 8))


@dataclass(frozen=True, kw_only=True)
class Site:
    """A receiver behind a path of its own."""

    name: str
    path: PathSpec


METRO = Site(name="sample-metro", path=PathSpec(rate_bps=100e6, rtt_s=0.020))
CONTINENT = Site(name="sample-continent", path=PathSpec(rate_bps=100e6, rtt_s=0.060, loss_rate=0.0002))
OCEAN = Site(name="sample-ocean", path=PathSpec(rate_bps=50e6, rtt_s=0.150, loss_rate=0.0001))


@dataclass(frozen=True, kw_only=True)
class SampleRecording:
    """Transfers of files of one class to one site, each setting ``repeats`` times."""

    site: Site
    files: FileClass
    count: int
    settings: Sequence[Setting]
    mover: str = "tradewind"
    repeats: int = 3


RECORDINGS: Mapping[str, SampleRecording] = MappingProxyType(
    {
        "metro-pages": SampleRecording(site=METRO, files=PAGES, count=60, settings=PAGE_SETTINGS),
        "metro-photos": SampleRecording(site=METRO, files=PHOTOS, count=10, settings=PHOTO_SETTINGS),
        "continent-pages": SampleRecording(site=CONTINENT, files=PAGES, count=60, settings=PAGE_SETTINGS),
        "continent-archives": SampleRecording(site=CONTINENT, files=ARCHIVES, count=3, settings=ARCHIVE_SETTINGS),
        "continent-rclone": SampleRecording(
            site=CONTINENT, files=PHOTOS, count=10, settings=RCLONE_SETTINGS, mover="rclone"
        ),
        "ocean-pages": SampleRecording(site=OCEAN, files=PAGES, count=60, settings=PAGE_SETTINGS),
        "ocean-photos": SampleRecording(site=OCEAN, files=PHOTOS, count=8, settings=PHOTO_SETTINGS),
    }
)


@dataclass(frozen=True, kw_only=True)
class TunedTransfer:
    """A transfer that is tuned while it runs. ``then`` : what the path becomes on the way."""

    site: Site
    sla: str
    then: PathSpec | None = None


TUNED_FILES, TUNED_COUNT = PHOTOS, 90
CHANGES_AFTER_S = 9.0
TUNED_TRANSFERS: Sequence[TunedTransfer] = (
    TunedTransfer(site=CONTINENT, sla="max_throughput"),
    TunedTransfer(site=OCEAN, sla="max_throughput"),
    TunedTransfer(site=OCEAN, sla="throughput_at_least=20Mbps"),
    TunedTransfer(site=OCEAN, sla="deadline=40s", then=PathSpec(rate_bps=25e6, rtt_s=0.150, loss_rate=0.0005)),
    TunedTransfer(
        site=CONTINENT, sla="throughput_at_least=60Mbps", then=PathSpec(rate_bps=30e6, rtt_s=0.120, loss_rate=0.001)
    ),
    TunedTransfer(site=OCEAN, sla="energy_at_most=400J"),
)
