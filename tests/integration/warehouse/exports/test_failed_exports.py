"""An export that cannot be written: those who look after it are told when and why, until it can."""

from html import unescape
from pathlib import Path
from uuid import uuid4

import pytest

from services.application.access.authenticate import Scope
from services.application.logs.export import Export
from services.application.logs.roll_up import RollUp
from services.application.shared.jobs import ExportLogs
from services.bootstrap import Options, build_container
from services.persistence.lake import ParquetLake
from services.persistence.lake_files import open_storage
from services.persistence.log_reader import LogReader
from tests.integration.admin.visitors import person, signed_in
from tests.integration.warehouse.house import Facts
from tests.records import ndjson, record
from tests.stack import new_tenant, serving
from tradewind.errors import Unavailable

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
