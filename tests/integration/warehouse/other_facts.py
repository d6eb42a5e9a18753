"""Heartbeats and quotes of a tenant, as the service would have stored them."""

from datetime import datetime, timedelta
from uuid import UUID, uuid4

from tests.stack import Tenant


def beaten(tenant: Tenant, began: datetime, *, sequence: int, transfer: UUID | None = None) -> UUID:
    """A sample of a transfer, stored; which transfer."""
    transfer = transfer or uuid4()
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        month = began.date().replace(day=1)
        uow.connection.exec_driver_sql("SELECT ensure_sample_partitions(%s)", ([month],))
        uow.connection.exec_driver_sql(
            "INSERT INTO transfer_samples (tenant_id, transfer_id, transfer_started_at, sequence, at, interval_s,"
            " bytes_moved, throughput_bps, remaining_bytes, remaining_files, parameters, chunks, decided_chunks,"
            " changed, kind, reason)"
            " VALUES (%s, %s, %s, %s, %s, 5, 1, 8, 0, 0, '{\"concurrency\": 4}', '[]', '[]', false, 'hold', '')",
            (tenant.id, transfer, began, sequence, began + timedelta(minutes=5)),
        )
        uow.commit()
    return transfer


def quote(tenant: Tenant, at: datetime) -> None:
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        uow.connection.exec_driver_sql("SELECT ensure_quote_partitions(%s)", ([at.date().replace(day=1)],))
        uow.connection.exec_driver_sql(
            "INSERT INTO quotes VALUES (%s, %s, %s, %s, %s, %s, %s, 0.125000, 'EUR', 'total', 'deadline', 1, 8, NULL)",
            (tenant.id, uuid4(), at, uuid4(), uuid4(), uuid4(), uuid4()),
        )
        uow.commit()
