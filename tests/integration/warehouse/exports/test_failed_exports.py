"""An export that cannot be written: those who look after it are told when and why, until it can."""

from html import unescape
from pathlib import Path
from uuid import uuid4

import pytest

from services.application.access.authenticate import Scope
from services.application.billing.usage import Month
from services.application.logs.export import Export, View, find_month_folder
from services.application.logs.roll_up import RollUp
from services.application.shared.jobs import ExportLogs
from services.bootstrap import Options, build_container
from services.persistence.lake import ParquetLake
from services.persistence.lake_files import PART, open_storage
from services.persistence.log_reader import LogReader
from tests.integration.admin.visitors import person, signed_in
from tests.integration.warehouse.house import Facts
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant, serving
from tradewind.errors import Unavailable

JANUARY, FEBRUARY = "2026-01", "2026-02"
PAGES = ("/admin/logs", "/admin/logs/exports")


def test_last_failure_is_shown_until_a_file_is_written(
    database_url: str, redis_url: str, logs: LogReader, tmp_path: Path
) -> None:
    place = tmp_path / "exports"
    place.write_text("a file where a folder is wanted")
    options = Options(export_place=str(place))
    with (
        build_container(database_url=database_url, redis_url=redis_url, options=options) as parts,
        serving(parts) as api,
    ):
        tenant, other = new_tenant(parts, database_url), new_tenant(parts, database_url)
        lake = ParquetLake(open_storage(str(place)), logs)
        export = Export(parts.store.unit_of_work, lake, parts.clock, Facts())
        with (
            tenant.client(api, Scope.OPERATOR) as client,
            other.client(api, Scope.OPERATOR) as stranger,
            signed_in(api, person(parts, tenant, "operator")) as operator,
        ):
            with tenant.client(api) as agent:
                agent.post("/v1/logs", content=ndjson([record(id=str(uuid4()))])).raise_for_status()
            RollUp(parts.store.unit_of_work).run(tenant.id)
            for _ in range(2):  # the later failure takes the place of the earlier one
                with pytest.raises(Unavailable):
                    export.run(ExportLogs(tenant.id))
            failure = client.get("/v1/warehouse/exports").json()["failure"]
            assert "the storage of exports does not answer: [Errno" in failure["reason"]
            assert client.post("/v1/warehouse/exports").json()["failure"] == failure
            assert stranger.get("/v1/warehouse/exports").json()["failure"] is None
            for page in PAGES:
                assert failure["reason"] in unescape(operator.get(page).text)
            with operator.stream("GET", "/admin/logs/exports/live") as told:
                assert failure["reason"] in unescape(next(line for line in told.iter_lines() if "Errno" in line))

            place.unlink()
            assert len(export.run(ExportLogs(tenant.id))) == 1
            assert client.get("/v1/warehouse/exports").json()["failure"] is None
            assert all("does not answer" not in operator.get(page).text for page in PAGES)


def test_one_month_that_fails_stops_no_other_and_a_lost_month_is_written_again(
    api: str, tenant: Tenant, logs: LogReader, tmp_path: Path
) -> None:
    export = Export(
        tenant.parts.store.unit_of_work, ParquetLake(open_storage(str(tmp_path)), logs), tenant.parts.clock, Facts()
    )
    days = [f"{month}-10T10:00:" for month in (JANUARY, FEBRUARY)]
    with tenant.client(api) as agent:
        rows = [record(id=str(uuid4()), started_at=f"{day}00Z", ended_at=f"{day}30Z") for day in days]
        agent.post("/v1/logs", content=ndjson(rows)).raise_for_status()
    RollUp(tenant.parts.store.unit_of_work).run(tenant.id)
    january, february = (
        tmp_path / find_month_folder(View.TRANSFERS, tenant.id, Month.parse(month)) for month in (JANUARY, FEBRUARY)
    )
    january.parent.mkdir(parents=True)
    january.write_text("a file in place of a folder")
    for _ in range(2):
        with pytest.raises(Unavailable):
            export.run(ExportLogs(tenant.id))
        assert (february / PART).exists()
    assert f"transfers of {JANUARY}: the storage" in find_failure(tenant)

    january.unlink()
    (february / PART).unlink()
    export.run(ExportLogs(tenant.id))
    assert (january / PART).exists()
    assert (february / PART).exists()
    assert find_failure(tenant) == ""


def find_failure(tenant: Tenant) -> str:
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        failure = uow.log_days.find_failure()
        return "" if failure is None else failure.reason
