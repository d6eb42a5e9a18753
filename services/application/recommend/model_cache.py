"""The cache of models; it serves every release, because a model never changes once it is stored."""

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from itertools import islice
from uuid import UUID

from services.application.recommend.served_model import AssumedLoad, ServedLeaf, ServedModel

MAX_LEAVES = 1_000
"""Leaves of models in memory: 0.25 MB each, 0.4 MB once all parts were used. A model has one to a dozen."""

MAX_SHIFTED = 500
"""Leaves in memory under another load than their median: 30 kB each, 0.6 MB where SLAs were solved again."""


class NotInMemory(Exception):
    """Models are needed that are not in the cache; fetch all of them and try again."""

    def __init__(self, model_ids: Sequence[UUID]) -> None:
        super().__init__(f"not in memory: {', '.join(map(str, model_ids))}")
        self.model_ids = model_ids


class ModelCache:
    """A least-recently-used cache of models and of leaves under another load; safe to use from several threads.

    Parameters
    ----------
    capacity : leaves of models; the model that was added last stays even if it has more.
    shifted : leaves under another load.
    """

    def __init__(self, capacity: int = MAX_LEAVES, shifted: int = MAX_SHIFTED) -> None:
        self._capacity = capacity
        self._models: OrderedDict[UUID, ServedModel] = OrderedDict()
        self._leaves = 0
        self._shifted_capacity = shifted
        self._shifted: OrderedDict[tuple[ServedLeaf, float], ServedLeaf] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, model_id: UUID) -> ServedModel:
        """Return the model; raise ``NotInMemory``."""
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
            self._remove(model_id)
            self._models[model_id] = model
            self._leaves += len(model.leaves)
            while self._leaves > self._capacity and len(self._models) > 1:
                self._remove(next(iter(self._models)))

    def _remove(self, model_id: UUID) -> Sequence[ServedLeaf]:
        """Remove a model, if it is there; return its leaves."""
        model = self._models.pop(model_id, None)
        leaves = () if model is None else model.leaves
        self._leaves -= len(leaves)
        return leaves

    def evict(self, model_ids: Collection[UUID]) -> None:
        """Remove models that a newer release has replaced; requests that still need one fetch it again."""
        with self._lock:
            leaves = {leaf for model_id in model_ids for leaf in self._remove(model_id)}
            for key in [key for key in self._shifted if key[0] in leaves]:
                del self._shifted[key]

    def list_recently_used(self, most: int) -> frozenset[UUID]:
        """Return the models that were used last, at most so many."""
        with self._lock:
            return frozenset(islice(reversed(self._models), most))

    def apply_load(self, leaf: ServedLeaf, load: AssumedLoad) -> ServedLeaf:
        """Return the leaf under a load; the same object while it is in the cache."""
        if leaf.model.load_effect is None:
            return leaf
        key = leaf, load.share
        with self._lock:
            found = self._shifted.get(key)
            if found is None:
                found = self._shifted[key] = leaf.apply_load(load.share)
                if len(self._shifted) > self._shifted_capacity:
                    self._shifted.popitem(last=False)
            else:
                self._shifted.move_to_end(key)
            return found
