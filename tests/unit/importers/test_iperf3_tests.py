"""Reports of iperf3 next to its events."""

import json

from tests.unit.importers.logs import ENDS, run

START = {"version": "iperf 3.17", "timestamp": {"timesecs": 1_700_000_000}}
SETTINGS = {"test_start": {"protocol": "TCP", "num_streams": 1}}
END = {"sum_sent": {}, "sum_received": {"bytes": 30_000_000, "seconds": 300}}


def write(cookie):
    start = START | SETTINGS | ({"cookie": cookie} if cookie else {})
    events = [json.dumps({"event": "start", "data": start}), json.dumps({"event": "end", "data": END})]
    return [*events, json.dumps({"start": start, "end": END})]


def test_a_report_behind_the_events_of_its_test_is_no_second_test():
    assert len(run(write("abc"), ENDS)[0]) == 1


def test_reports_of_tests_without_an_identity_are_each_read():
    assert len(run(write(""), ENDS)[0]) == 2
