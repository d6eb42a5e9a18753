"""``POST /v1/logs`` through HTTP, on real PostgreSQL."""

from tests.records import ndjson, record
from tests.stack import Tenant


def test_valid_rows_are_stored_and_the_others_named_with_field_and_reason(api: str, tenant: Tenant) -> None:
    bad = record(1, dataset={"file_count": 0, "total_bytes": 1})
    with tenant.client(api) as client:
        answer = client.post("/v1/logs", content=ndjson([record(0), bad, record(2)]))
        assert answer.status_code == 201, answer.text
        receipt = answer.json()
        assert (receipt["accepted"], receipt["rejected"]) == (2, 1)
        assert receipt["rejections"][0]["row"] == 2
        assert receipt["rejections"][0]["field"] == "dataset.file_count"
        assert client.get(f"/v1/logs/batches/{receipt['batch_id']}").json() == receipt
