"""Tasks: each turns a message into a job and hands it to its use case."""

from uuid import UUID

from celery import shared_task

from services.application.jobs import FitLink, RefreshModels
from workers.schedule import SWEEP
from workers.task import TimedTask


@shared_task(bind=True, base=TimedTask, name=RefreshModels.name)
def refresh_models(self: TimedTask, tenant_id: str) -> None:
    self.parts.refresh.begin(RefreshModels(UUID(tenant_id)))


@shared_task(bind=True, base=TimedTask, name=FitLink.name)
def fit_link(self: TimedTask, tenant_id: str, release_id: int, link_id: str) -> None:
    self.parts.refresh.fit(FitLink(UUID(tenant_id), release_id, UUID(link_id)))


@shared_task(bind=True, base=TimedTask, name=SWEEP)
def sweep(self: TimedTask) -> None:
    """Find work whose job was lost between commit and publish, or that waited for its interval."""
    for tenant_id in self.parts.store.registry.tenants_with_work():
        self.parts.dispatcher.send(RefreshModels(tenant_id))
