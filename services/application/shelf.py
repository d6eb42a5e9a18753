"""Models in memory: what serves every release, because a model never changes once it is stored."""

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from itertools import islice
from uuid import UUID

from services.application.assumed_load import AssumedLoad
from services.application.served_model import ServedLeaf, ServedModel

MAX_MODELS = 2_000
"""Models kept in memory; about 0.3 MB each."""


MAX_SHIFTED = 2_000
"""Leaves under another load than their median kept in memory; 30 kB each, 0.6 MB where agreements were solved anew."""


class NotInMemory(Exception):
    """Models are needed that are not on the shelf; fetch all of them and ask again."""

    def __init__(self, model_ids: Sequence[UUID]) -> None:
        super().__init__(f"not in memory: {', '.join(map(str, model_ids))}")
        self.model_ids = model_ids


class Shelf:
    """Models and shifted leaves in memory, the least recently used given up first; safe to use from several threads."""

    def __init__(self, capacity: int = MAX_MODELS, shifted: int = MAX_SHIFTED) -> None:
        self._capacity = capacity
        self._models: OrderedDict[UUID, ServedModel] = OrderedDict()
        self._shifted_capacity = shifted
        self._shifted: OrderedDict[tuple[ServedLeaf, float], ServedLeaf] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, model_id: UUID) -> ServedModel:
        """The model; raises ``NotInMemory``."""
        with self._lock:
            found = self._models.get(model_id)
            if found is None:
                raise NotInMemory((model_id,))
            self._models.move_to_end(model_id)
            return found

    def has(self, model_id: UUID) -> bool:
        with self._lock:
            return model_id in self._models

    def put(self, model_id: UUID, model: ServedModel) -> None:
        with self._lock:
            self._models[model_id] = model
            if len(self._models) > self._capacity:
                self._models.popitem(last=False)

    def give_up(self, model_ids: Collection[UUID]) -> None:
        """Models that a newer release has replaced, with their shifted leaves; who still asks fetches them anew."""
        with self._lock:
            models = [self._models.pop(each) for each in model_ids if each in self._models]
            leaves = {leaf for model in models for leaf in model.leaves}
            for key in [key for key in self._shifted if key[0] in leaves]:
                del self._shifted[key]

    def used(self, most: int) -> frozenset[UUID]:
        """The models that were used last."""
        with self._lock:
            return frozenset(islice(reversed(self._models), most))

    def under(self, leaf: ServedLeaf, load: AssumedLoad) -> ServedLeaf:
        """The leaf under a load; the same as long as it is kept."""
        if leaf.model.load_effect is None:
            return leaf
        key = leaf, load.share
        with self._lock:
            found = self._shifted.get(key)
            if found is None:
                found = self._shifted[key] = leaf.under(load.share)
                if len(self._shifted) > self._shifted_capacity:
                    self._shifted.popitem(last=False)
            else:
                self._shifted.move_to_end(key)
            return found
