"""A cluster of the current release, with the model that it belongs to."""

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
    """The cluster is of an earlier release: its link was fitted again, or its tier boundaries changed."""

    def __init__(self, link_id: UUID) -> None:
        super().__init__(
            "that cluster is of an earlier release: its link was fitted again, or its tier boundaries were changed"
        )
        self.link_id = link_id


def find_current_cluster(cluster_id: UUID, uow: UnitOfWork) -> CurrentCluster:
    """Return a cluster of the current release.

    Raises
    ------
    ClusterSuperseded, NotFound : the current release has no cluster of this id.
    """
    release = uow.releases.find_current()
    model = None if release is None else uow.models.with_cluster(release, cluster_id)
    if release is None or model is None:
        link_id = uow.models.link_of_cluster(cluster_id)
        raise NotFound("no such cluster") if link_id is None else ClusterSuperseded(link_id)
    return CurrentCluster(release, model, next(leaf for leaf in model.leaves if leaf.cluster_id == cluster_id))
