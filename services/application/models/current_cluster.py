"""A cluster of the release in force, with the model that it belongs to."""

from typing import NamedTuple
from uuid import UUID

from services.application.models.learned_model import StoredLeaf, StoredModel
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import NotFound


class CurrentCluster(NamedTuple):
    release: int
    model: StoredModel
    leaf: StoredLeaf


class ClusterSuperseded(NotFound):
    """The cluster was in force once: its link was fitted, or its tiers cut, anew."""

    def __init__(self, link_id: UUID) -> None:
        super().__init__("that cluster is in force no more: its link was fitted anew, or its tiers were cut otherwise")
        self.link_id = link_id


def find_current_cluster(cluster_id: UUID, uow: UnitOfWork) -> CurrentCluster:
    """One cluster.

    Raises
    ------
    ClusterSuperseded, NotFound : the release in force has none of this id.
    """
    release = uow.releases.current()
    model = None if release is None else uow.models.with_cluster(release, cluster_id)
    if release is None or model is None:
        link_id = uow.models.link_of_cluster(cluster_id)
        raise NotFound("no such cluster") if link_id is None else ClusterSuperseded(link_id)
    return CurrentCluster(release, model, next(leaf for leaf in model.leaves if leaf.cluster_id == cluster_id))
