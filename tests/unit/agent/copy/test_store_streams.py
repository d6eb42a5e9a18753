"""Copies from and to object stores use several streams where the closed-form rules alone plan fewer."""

from pathlib import Path as FilePath

import pytest

from tradewind.parameters import Caps, Parameters
from tradewind.path import Path
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.transfer import Direction
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.plan import plan_copy
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import DownloadJob

NEAR = Path(bandwidth_bps=1e9, rtt_s=0.0001)


def plan(
    *, store: str = "s3", direction: Direction = Direction.DOWNLOAD, files: int = 1, **options
) -> list[Parameters]:
    url = Url.parse("http://host/data/file")
    jobs = [DownloadJob(source=url, destination=str(FilePath(f"/out/{at}")), size_bytes=10**9) for at in range(files)]
    listing = Listing(
        jobs=jobs,
        direction=direction,
        remote=url.origin,
        sizes_bytes=(10**9,) * files,
        sizes_are_exact=True,
        store=store,
    )
    planned = plan_copy(listing, NEAR, ("host", "here"), CopyOptions(**options), None)
    return [chunk.parameters for chunk in planned.plan.chunks]


@pytest.mark.parametrize("direction", Direction)
def test_one_large_object_goes_over_eight_streams(direction: Direction):
    (setting,) = plan(direction=direction)
    assert (setting.concurrency, setting.parallelism) == (1, 8)


def test_several_objects_that_come_at_once_need_no_more_streams_each():
    (setting,) = plan(files=20)
    assert (setting.streams or 0) >= 8
    assert setting.parallelism == 1


@pytest.mark.parametrize(
    "options",
    [
        {"store": "http"},
        {"by_hand": Parameters(parallelism=1)},
        {"limits": Caps(streams=2)},
        {"limits": Caps(parallelism=2)},
        {"sla": Sla(kind=SlaKind.MIN_ENERGY)},
    ],
    ids=str,
)
def test_other_copies_and_what_the_user_sets_stay_as_planned(options):
    (setting,) = plan(**options)
    assert setting.streams == 1
