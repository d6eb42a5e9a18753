"""The transfers that the demo learns from: real ones, at many settings, of files like those it will move."""

import random
from dataclasses import dataclass

from benchmarks.demo.files import PAGES, PHOTOS, FileClass
from tradewind.parameters import Parameters


@dataclass(frozen=True)
class Trial:
    """One transfer of the history: so many files of one class at one setting."""

    files: FileClass
    count: int
    parameters: Parameters

    @property
    def name(self) -> str:
        p = self.parameters
        return f"{self.files.name} cc={p.concurrency} p={p.parallelism} pp={p.pipelining}"


_PAGE_SETTINGS = [(1, 1, 4), (1, 1, 16), *((cc, 1, pp) for cc in (2, 4, 8, 16) for pp in (1, 4, 16) if cc * pp > 2)]
_PHOTO_SETTINGS = [(cc, p, 1) for cc in (1, 2, 4, 8) for p in (1, 2, 4)]

PAGES_A_TRIAL = 40
PHOTOS_A_TRIAL = 6


def draw_trials(draw: random.Random) -> list[Trial]:
    """Return each setting twice, in an order drawn at random, so that slow times of the machine affect each equally."""
    trials = [
        Trial(files, count, Parameters(concurrency=cc, parallelism=p, pipelining=pp))
        for files, count, settings in (
            (PAGES, PAGES_A_TRIAL, _PAGE_SETTINGS),
            (PHOTOS, PHOTOS_A_TRIAL, _PHOTO_SETTINGS),
        )
        for cc, p, pp in settings
        for _ in range(2)
    ]
    draw.shuffle(trials)
    return trials
