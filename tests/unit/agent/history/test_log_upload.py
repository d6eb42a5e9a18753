"""What is said at the end of an upload."""

from io import BytesIO
from uuid import UUID

from tradewind.wire.logs import BatchReceipt, Rejection
from tradewind_agent.history.importers.ports import ImportContext
from tradewind_agent.history.log_upload import read_logs, upload_report
from tradewind_agent.service.client import UploadReport

HEADER = "file size (B),concurrency,bandwidth (Mbps),throughput (Mbps)"


def receipt(batch, accepted, *rejections, rejected=None, duplicate=False):
    return BatchReceipt(
        batch_id=UUID(int=batch),
        accepted=accepted,
        rejected=len(rejections) if rejected is None else rejected,
        rejections=tuple(Rejection(row=row, field=field, reason=reason) for row, field, reason in rejections),
        duplicate=duplicate,
    )


def format_uploads(*receipts):
    return upload_report([], UploadReport(receipts))


def test_rejections_are_grouped_by_kind_with_the_commonest_first_and_its_first_rows():
    slow = [(row, "outcome.throughput_bps", "is zero") for row in (2, 4, 6, 8, 9, 10)]
    text, document = format_uploads(receipt(1, 6, (1, "id", "is missing"), *slow))
    assert text.splitlines() == [
        "uploaded in 1 batch: 6 accepted, 7 rejected",
        "  rejected 6 (rows 2, 4, 6, 8, 9, … of the upload): outcome.throughput_bps: is zero",
        "  rejected 1 (row 1 of the upload): id: is missing",
    ]
    assert document["rejections"][0] == {
        "batch_id": str(UUID(int=1)), "row": 1, "field": "id", "reason": "is missing"
    }  # fmt: skip


def test_rows_are_counted_through_the_batches_of_an_upload():
    text, document = format_uploads(receipt(1, 10), receipt(2, 0, (1, "id", "is missing"), (2, "id", "is missing")))
    assert text.splitlines() == [
        "uploaded in 2 batches: 10 accepted, 2 rejected",
        "  rejected 2 (rows 11, 12 of the upload): id: is missing",
    ]
    assert [(each["batch_id"], each["row"]) for each in document["rejections"]] == [
        (str(UUID(int=2)), 1),
        (str(UUID(int=2)), 2),
    ]


def test_rejections_that_the_receipt_does_not_name_are_counted():
    text, _ = format_uploads(receipt(1, 0, (1, "id", "is missing"), rejected=150))
    assert text.endswith("  rejected 149 more; receipts name the first ones")


def test_rejected_rows_that_a_full_quarantine_did_not_store_are_reported():
    full = receipt(1, 0, (1, "id", "is missing"), rejected=150).model_copy(update={"not_quarantined": 40})
    text, document = format_uploads(receipt(2, 1), full)
    assert "quarantine is full: 40 rejected rows not stored" in text
    assert document["not_quarantined"] == 40
    text, document = format_uploads(receipt(1, 0, (1, "id", "is missing")))
    assert ("quarantine" in text, document["not_quarantined"]) == (False, 0)


def test_report_counts_rows_that_were_stored_before():
    text, _ = format_uploads(receipt(1, 2), receipt(2, 3, duplicate=True))
    assert text == "uploaded in 2 batches: 5 accepted (3 known before), 0 rejected"


def read(text, **context):
    reports = []
    context = ImportContext(**({"source": "alpha", "destination": "beta"} | context))
    lines = list(read_logs([("log.csv", BytesIO(text.encode()))], format_name="auto", context=context, reports=reports))
    return lines, reports


def test_the_links_that_will_learn_are_named_before_anything_is_sent():
    lines, reports = read(f"{HEADER}\n10000000,4,100,80\n10000000,4,100,90\n", network="wan", mover="rclone")
    text, document = upload_report(reports, None)
    assert len(lines) == 2
    assert "  alpha to beta over wan, moved by rclone: 2 records" in text.splitlines()
    assert "2 records would be uploaded; check the links above" in text
    assert document["files"][0]["links"] == [
        {"source": "alpha", "destination": "beta", "network": "wan", "mover": "rclone", "records": 2}
    ]


def test_report_names_the_commonest_links_and_counts_the_others():
    rows = "".join(f"10000000,4,100,80,{name}\n" for name in "aabcdefg")
    _, reports = read(f"{HEADER},destination\n{rows}")
    text, _ = upload_report(reports, None)
    assert "  alpha to a, moved by unknown: 2 records" in text
    assert "  and 2 more links" in text


def test_one_of_a_thing_is_written_in_the_singular():
    _, reports = read(f"{HEADER}\n10000000,4,100,80\n10000000,4,100\n")
    text, _ = upload_report(reports, None)
    assert text.startswith("log.csv: csv, 1 record, 1 row refused\n  alpha to beta, moved by unknown: 1 record\n")
    assert "  refused 1 (row 3): row: has 3 fields where the header has 4" in text


def test_dry_run_without_records_names_no_links():
    _, reports = read("a,b\n1,2\n")
    text, _ = upload_report(reports, None)
    assert "dry run: 0 records would be uploaded" in text.splitlines()
