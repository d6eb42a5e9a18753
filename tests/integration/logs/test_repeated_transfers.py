"""Transfers that were logged twice, in the views to sum over."""

from uuid import UUID, uuid4

from tests.integration.logs.test_rollups import GB, moved, roll_up, rollups, session_of, upload
from tests.stack import Tenant


def test_sums_over_transfers_leave_out_records_that_a_later_one_replaced(api: str, tenant: Tenant) -> None:
    def count(view: str) -> list[tuple[str, int]]:
        with tenant.parts.store.unit_of_work(tenant.id) as uow:
            query = (
                f"SELECT transfer_id, sum(bytes_moved)::bigint FROM warehouse.{view} GROUP BY 1 ORDER BY 1 NULLS LAST"
            )
            return [tuple(row) for row in uow.connection.exec_driver_sql(query)]

    single, chunked = (str(UUID(int=number)) for number in (1, 2))
    repeated = [moved("2026-03-01", transfer_id=single) for _ in range(3)]
    parts = [moved("2026-03-01", transfer_id=chunked, chunk=chunk) for chunk in ("whole", "small", "large")]
    for nth, each in enumerate(repeated):
        each["outcome"] = each["outcome"] | {"bytes_moved": GB + nth}
    for each in repeated[:2]:
        upload(api, tenant, each)
    upload(api, tenant, *parts, moved("2026-03-01"), moved("2026-03-01"), moved("2026-03-02", transfer_id=single))
    roll_up(tenant)
    upload(api, tenant, repeated[2], *(each | {"id": str(uuid4())} for each in parts))
    while roll_up(tenant):
        pass
    entire = [(UUID(single), GB + 2 + GB), (UUID(chunked), GB), (None, 2 * GB)]
    assert count("whole_transfers") == entire, "records of another day are others"
    assert count("transfer_chunks") == [(UUID(chunked), 2 * GB)]
    assert sum(row["bytes_moved"] for row in rollups(tenant).values()) == sum(moved for _, moved in entire)
    assert sum(moved for _, moved in count("transfers")) == 3 * GB + 3 + GB + 6 * GB + 2 * GB, "it has each record"
    with session_of(tenant) as session:
        session.execute("DELETE FROM transfer_logs WHERE id = %s", [repeated[2]["id"]])
    while roll_up(tenant):
        pass
    assert count("whole_transfers") == [(UUID(single), GB + 1 + GB), *entire[1:]]
