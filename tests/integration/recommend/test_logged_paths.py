"""Until the first model of a link, what its own logs state of the path is not assumed otherwise."""

from tests.records import ndjson, record
from tests.stack import Tenant

PATH = {"bandwidth_bps": 3e8, "rtt_s": 0.15}
DATASET = {"file_count": 8, "total_bytes": 8_800_000}


def test_path_of_uploaded_logs_is_used_before_the_first_model(api: str, tenant: Tenant) -> None:
    rows = [record(minute, source="archive", destination="lab", path=PATH) for minute in range(3)]
    with tenant.client(api) as client:
        assert client.post("/v1/logs", content=ndjson(rows)).json()["accepted"] == len(rows)
        mover = rows[0]["mover"]["name"]
        request = {"source": "archive", "destination": "lab", "mover": mover, "dataset": DATASET}
        answer = client.post("/v1/recommend", json=request | {"sla": {"kind": "max_throughput"}})
    assert answer.status_code == 200, answer.text
    assert "assuming" not in answer.json()["rationale"]
    assert answer.json()["predicted"]["throughput_bps"]["mean"] <= PATH["bandwidth_bps"]
