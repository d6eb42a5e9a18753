"""The first fit of a link for tests that need a model and do not test learning: computed once a process."""

import pickle
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from services.application.models.learned_model import KnownLoadCurve, StoredModel
from services.application.models.refresh import EndCurves
from tradewind.model import LinkModel
from tradewind.tiers.demand import Demand
from workers.learner import Learner

RECEIPT = "received_s"
"""When a row was stored: only the comparison with a current model reads it, and a first fit has none."""


class FirstFits(Learner):
    """A learner that computes the first fit of the same rows once, and returns the same model after that.

    A fit is a function of its arguments, and its own generator has a constant seed. Refits are computed every time.
    """

    def __init__(self) -> None:
        super().__init__()
        self._models: dict[bytes, LinkModel] = {}

    @property
    def computed(self) -> int:
        """How many first fits were computed."""
        return len(self._models)

    def fit(
        self,
        rows: Iterable[pa.RecordBatch],
        curves: EndCurves,
        *,
        unknown_before_bps: float | None,
        current_model: StoredModel | None,
        requested: Demand,
    ) -> LinkModel:
        rest: dict[str, Any] = {"unknown_before_bps": unknown_before_bps, "requested": requested}
        batches = list(rows)
        if current_model is not None:
            return super().fit(batches, curves, current_model=current_model, **rest)
        key = pickle.dumps((_list_rows(batches), _list_steps(curves), rest))
        if key not in self._models:
            self._models[key] = super().fit(batches, curves, current_model=None, **rest)
        return self._models[key]


def _list_rows(batches: list[pa.RecordBatch]) -> list[Any]:
    return [batch.drop_columns([RECEIPT]).to_pydict() for batch in batches]


def _list_steps(curves: EndCurves) -> list[tuple[bytes, bytes]]:
    known: list[KnownLoadCurve] = [*curves.source.read(), *curves.destination.read(), curves.between]
    return [(each.times_s.tobytes(), each.rate_steps.tobytes()) for each in known]


FIRST_FITS = FirstFits()
