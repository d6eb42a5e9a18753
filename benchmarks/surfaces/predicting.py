"""Predictions of the baselines, stored so that an interrupted benchmark continues.

They depend on the rows and on the sources of the baselines alone. Both are parts of the key, so that a change of the
surfaces does not repeat them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import sklearn

from benchmarks.support.sources import digest_parts
from benchmarks.surfaces.baselines import Split, choose_baselines, predict_baselines
from tradewind.learning.observations import Floats

SOURCES = ("benchmarks/surfaces/baselines.py", "benchmarks/surfaces/gaussian_process.py")
KEY_DIGITS = 24


@dataclass(frozen=True)
class BaselineStore:
    """Predictions in ``folder``, a file a target and its splits; nothing is stored without a folder."""

    folder: Path | None = None

    def predict(self, inputs: Floats, target: Floats, splits: Sequence[Split]) -> list[dict[str, Floats]]:
        """Return the predictions (r,) of each model for the test rows of each split.

        The candidates are chosen on the training rows of the first split; other splits test some of these rows.
        """
        if self.folder is None:
            return _predict(inputs, target, splits)
        path = self.folder / f"{self._build_key(inputs, target, splits)}.json"
        if path.exists():
            stored = json.loads(path.read_text())
            return [{name: np.array(values) for name, values in each.items()} for each in stored]
        found = _predict(inputs, target, splits)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps([_list_values(each) for each in found]))
        unfinished.replace(path)
        return found

    @cached_property
    def _sources(self) -> str:
        return digest_parts({"baselines": SOURCES})["baselines"]

    def _build_key(self, inputs: Floats, target: Floats, splits: Sequence[Split]) -> str:
        digest = hashlib.sha256(f"{sklearn.__version__} {self._sources} {inputs.shape}".encode())
        for values in (inputs, target, *(values for split in splits for values in split)):
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()[:KEY_DIGITS]


def _predict(inputs: Floats, target: Floats, splits: Sequence[Split]) -> list[dict[str, Floats]]:
    choices = choose_baselines(inputs, target, splits[0])
    return [predict_baselines(choices, inputs, target, split) for split in splits]


def _list_values(predictions: Mapping[str, Floats]) -> dict[str, list[float]]:
    return {name: values.tolist() for name, values in predictions.items()}
