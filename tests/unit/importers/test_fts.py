import json
from datetime import UTC, datetime

import pytest

from tests.unit.importers.logs import run
from tradewind.transfer import Direction, Status
from tradewind_agent.importers import ImportContext

NO_CONTEXT = ImportContext()
BEGIN_MS = 1_600_000_000_000


def message(**more: object) -> dict[str, object]:
    return {
        "tr_id": "2020__x",
        "src_hostname": "se1.example.org",
        "dst_hostname": "se2.example.org",
        "src_url": "gsiftp://se1.example.org:2811/store/a.root",
        "dst_url": "gsiftp://se2.example.org:2811/store/a.root",
        "timestamp_tr_st": BEGIN_MS,
        "timestamp_tr_comp": BEGIN_MS + 4000,
        "tr_bt_transfered": 1_000_000_000,
        "f_size": 1_000_000_000,
        "nstreams": 6,
        "tcp_buf_size": 0,
        "block_size": 0,
        "t_final_transfer_state": "Ok",
        **more,
    }


def as_strings(values: dict[str, object]) -> str:
    return json.dumps({key: str(value) for key, value in values.items()})


def wrapped(values: dict[str, object]) -> str:
    return json.dumps({"data": values, "metadata": {"topic": "fts_raw_complete"}})


@pytest.mark.parametrize("written", [as_strings, wrapped, json.dumps])
def test_messages_of_any_version_become_the_same_record(written):
    imported, refused, report = run([written(message())], NO_CONTEXT)
    record = imported[0].record
    assert (refused, report.format) == ([], "fts")
    assert (record.source, record.destination, record.direction) == (
        "se1.example.org",
        "se2.example.org",
        Direction.THIRD_PARTY,
    )
    assert record.protocol == "gsiftp"
    assert record.parameters.list_known() == {"concurrency": 1, "parallelism": 6}
    assert record.path.buffer_bytes is None
    assert record.started_at == datetime(2020, 9, 13, 12, 26, 40, tzinfo=UTC)
    assert record.outcome.throughput_bps == pytest.approx(2e9)


def test_concurrency_follows_from_messages_of_the_same_pair_that_overlap():
    lines = [json.dumps(message()), json.dumps(message()), json.dumps(message(dst_hostname="se3.example.org"))]
    assert [item.record.parameters.concurrency for item in run(lines, NO_CONTEXT)[0]] == [2, 2, 1]


def test_hosts_come_from_the_addresses_where_they_are_not_named():
    record = run([json.dumps(message(src_hostname="", dst_hostname=None))], NO_CONTEXT)[0][0].record
    assert (record.source, record.destination) == ("se1.example.org", "se2.example.org")


def test_a_failed_copy_is_a_record_of_a_failure():
    record = run([json.dumps(message(t_final_transfer_state="Error", tr_bt_transfered=5))], NO_CONTEXT)[0][0].record
    assert record.outcome.status is Status.FAILED
    assert (record.dataset.total_bytes, record.outcome.bytes_moved) == (1_000_000_000, 5)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"timestamp_tr_st": 0}, "started_at"),
        ({"timestamp_tr_st": "soon"}, "started_at"),
        ({"timestamp_tr_st": 1e300}, "started_at"),
        ({"timestamp_tr_comp": BEGIN_MS}, "ended_at"),
        ({"timestamp_tr_comp": None}, "ended_at"),
        ({"tr_bt_transfered": -1}, "outcome.bytes_moved"),
        ({"tr_bt_transfered": 0}, "outcome.bytes_moved"),
        ({"f_size": float("nan")}, "dataset.total_bytes"),
        ({"nstreams": 10**6}, "parameters.parallelism"),
        ({"t_final_transfer_state": "Perhaps"}, "outcome.status"),
        ({"src_hostname": "", "src_url": "http://[broken"}, "source"),
        ({"src_hostname": "\ud800"}, "source"),
    ],
)
def test_a_bad_message_is_refused_with_its_field(change, field):
    imported, refused, _ = run([json.dumps(message()), json.dumps(message(**change))], NO_CONTEXT)
    assert len(imported) == 1
    assert [(item.row, item.field) for item in refused] == [(2, field)]


def test_damaged_messages_are_refused_and_lines_of_others_skipped():
    _, refused, report = run([json.dumps(message()), "{", "[]", "[" * 100_000], NO_CONTEXT)
    assert [(item.row, item.field) for item in refused] == [(2, "row")]
    assert report.skipped == {"no messages of FTS": 2}


def test_messages_of_starts_and_states_and_copies_that_never_started_are_skipped():
    start = {"tr_id": "2020__y", "timestamp_tr_st": BEGIN_MS, "vo": "atlas"}
    state = {"job_id": "1", "file_id": 2, "file_state": "ACTIVE"}
    never = message(t_final_transfer_state="Error", timestamp_tr_st=0, tr_bt_transfered=0)
    lines = [json.dumps(each) for each in (start, state, message(), never)]
    imported, refused, report = run(lines, NO_CONTEXT)
    assert ([item.row for item in imported], refused) == ([3], [])
    assert report.skipped == {"messages of a start or of a state": 2, "copies that failed before they started": 1}
