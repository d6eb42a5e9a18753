"""Transfer histories of HTCondor and traces of rucio."""

import json

import pytest

from tests.unit.importers.logs import run
from tradewind.transfer import Status
from tradewind_agent.importers import ImportContext

AD = {
    "TransferEndTime": 1772359220,
    "TransferFileBytes": 3_000_000,
    "TransferHostName": "store.example.org",
    "TransferLocalMachineName": "wn1.example.org",
    "TransferProtocol": "https",
    "TransferStartTime": 1772359200,
    "TransferSuccess": True,
    "TransferTotalBytes": 3_000_000,
    "TransferType": "download",
    "TransferUrl": "https://store.example.org/a",
}
NO_CONTEXT = ImportContext()


def written_in_brackets(ad: dict[str, object]) -> list[str]:
    nested = [f"  {name} = {json.dumps(value)};" for name, value in ad.items() if not isinstance(value, dict)]
    for name, value in ad.items():
        if isinstance(value, dict):
            inner = [f"    {key} = {json.dumps(each)};" for key, each in value.items()]
            nested += [f"  {name} = [", *inner, "  ]"]
    return ["[", *nested, "]"]


@pytest.mark.parametrize(
    "written",
    [
        written_in_brackets,
        lambda ad: [json.dumps(ad)],
        lambda ad: [json.dumps([{"ClusterId": 1, "ProcId": 0, "InputPluginResultList": [ad]}])],
        lambda ad: json.dumps([ad], indent=1).split("\n"),
    ],
)
def test_an_ad_is_read_in_any_notation_also_as_the_first_of_a_file(written):
    (row,), refused, report = run(written(AD | {"DeveloperData": {"TransferTries": 1}}), NO_CONTEXT)
    assert (refused, report.format, row.record.duration_s) == ([], "htcondor", 20)
    assert (row.record.source, row.record.destination) == ("store.example.org", "wn1.example.org")
    assert row.record.outcome.bytes_moved == 3_000_000


@pytest.mark.parametrize("tries", [{"TransferTries": 2}, {"DeveloperData": {"TransferTries": 2}}])
@pytest.mark.parametrize("written", [written_in_brackets, lambda ad: [json.dumps(ad)]])
def test_bytes_of_tries_that_failed_do_not_count_as_bytes_of_the_file(written, tries):
    (row,), _, _ = run(written(AD | tries | {"TransferTotalBytes": 5_000_000}), NO_CONTEXT)
    assert row.record.outcome.bytes_moved == row.record.dataset.total_bytes == 3_000_000


def test_a_failed_file_moved_its_total():
    failed = AD | {"TransferSuccess": False, "TransferTries": 2, "TransferFileBytes": 0, "TransferTotalBytes": 7}
    (row,), _, _ = run(written_in_brackets(failed), NO_CONTEXT)
    assert (row.record.outcome.status, row.record.outcome.bytes_moved) == (Status.FAILED, 7)


def test_files_that_were_copied_within_a_host_are_skipped():
    imported, refused, report = run(written_in_brackets(AD | {"TransferProtocol": "file"}), NO_CONTEXT)
    assert (imported, refused, sum(report.skipped.values())) == ([], [], 1)


def trace(**more: object) -> str:
    values = {
        "eventType": "get_sm", "eventVersion": "3", "traceId": "t", "clientState": "DONE", "filesize": 3_000_000,
        "localSite": "SITE-B", "remoteSite": "STORE-A", "protocol": "davs", "transferStart": 1772359200.0,
        "timeEnd": 1772359220.0,
    }  # fmt: skip
    return json.dumps(values | more)


@pytest.mark.parametrize(
    "unmoved",
    [
        {"clientState": "FOUND_ROOT"},
        {"clientState": "FAILED_REMOTE_OPEN"},
        {"clientState": "NO_REPLICA"},
        {"eventType": "put_sm", "clientState": "MISSINGOUTPUTFILE"},
        {"protocol": "file"},
    ],
)
def test_traces_of_files_that_no_program_tried_to_copy_are_skipped(unmoved):
    imported, refused, report = run([trace(), trace(**unmoved)], NO_CONTEXT)
    assert ([item.row for item in imported], refused) == ([1], [])
    assert report.skipped == {"traces of no transfer": 1}
