"""Lines in what collectors, terminals, exports and brokers put around them are read as the program wrote them."""

import bz2
import gzip
import json
import lzma

import pytest
import zstandard

from tests.unit.importers.logs import run
from tests.unit.importers.test_fts import message
from tests.unit.importers.test_gridftp import line as gridftp_line
from tests.unit.importers.test_rclone import copied, stats
from tradewind_agent.history.importers.reading.envelopes import unwrap_lines
from tradewind_agent.history.importers.reading.lines import Line
from tradewind_agent.importers import ImportContext

NO_CONTEXT = ImportContext()

PREFIXES = {
    "compose": "copier-2  | ",
    "compose without a number": "nightly     | ",
    "cri": "2025-07-09T04:05:06.987654321+02:00 stdout F ",
    "docker timestamps": "2025-07-09T04:05:06.987654321Z ",
    "journal": "Jul 09 04:05:06 dtn7 copier[815]: ",
    "journal with iso times": "2025-07-09T04:05:06+0200 dtn7 copier[815]: ",
    "journal with full times": "Wed 2025-07-09 04:05:06 CEST dtn7 copier[815]: ",
    "journal since boot": "[ 4711.250000] dtn7 copier[815]: ",
    "rfc 3164": "<30>Jul  9 04:05:06 dtn7 copier[815]: ",
    "rfc 5424": '<30>1 2025-07-09T04:05:06Z dtn7 copier 815 - [origin ip="192.0.2.1"] ',
    "systemd": "<5>",
    "kubectl": "[pod/copier-x7/main] ",
    "quoted mail": "> ",
    "logcli": '2025-07-09T04:05:06Z {app="copier", pod="copier-2"} ',
    "colours": "\x1b[32m",
}


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_a_prefix_of_each_line_does_not_matter(prefix):
    plain = [copied(2000), stats(50, bytes=2000), stats(80)]
    imported, refused, report = run([prefix + each for each in plain])
    assert (refused, report.format) == ([], "rclone")
    assert [item.record.id for item in imported] == [item.record.id for item in run(plain)[0]]
    texts, _, _ = run([prefix + gridftp_line(file=file) for file in ("/a", "/b")], NO_CONTEXT)
    assert [item.record.parameters.parallelism for item in texts] == [4, 4]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: f'"{text}"',
        lambda text: f"/var/log/gridftp.log.1:{text}",
        lambda text: f"gridftp.log:12:{text}",
        lambda text: f"12:{text}",
        lambda text: f"__REALTIME_TIMESTAMP=1772359210000000\nMESSAGE={text}\n_PID=12\n",
        lambda text: f"Sun 2026-03-01 10:00:10.5 UTC [s=7;i=1]\n    _PID=12\n    MESSAGE={text}",
        lambda text: json.dumps({"version": "1.1", "host": "dtn", "short_message": text, "timestamp": 1.5}),
        lambda text: json.dumps({"log": text, "container_id": "7", "container_name": "g", "source": "stdout"}),
        lambda text: json.dumps({"message": text, "timestamp": "2026-03-01T10:00:10Z", "ddsource": "g"}),
    ],
)
def test_line_in_an_export_of_text_is_read(wrap):
    lines = [gridftp_line(), gridftp_line(file="/b", streams="2")]
    imported, refused, _ = run([wrap(line) for line in lines], NO_CONTEXT)
    assert ([item.record.parameters.parallelism for item in imported], refused) == ([4, 2], [])


def test_a_table_with_bars_keeps_its_first_column():
    lines = ["source | size | duration (s) | cc", "host-1 | 4000000 | 2 | 4", "host-1 | 4000000 | 3 | 4"]
    imported, refused, _ = run(lines, ImportContext(destination="d"))
    assert ([item.record.source for item in imported], refused) == (["host-1", "host-1"], [])


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: json.dumps({"log": text + "\n", "stream": "stderr", "time": "2025-07-09T04:05:06Z"}),
        lambda text: json.dumps({"log": text, "stream": "stderr", "time": "2025-07-09T04:05:06Z"}),
        lambda text: json.dumps({"MESSAGE": text, "__REALTIME_TIMESTAMP": "1", "_PID": "77"}),
        lambda text: json.dumps({"MESSAGE": list(text.encode()), "PRIORITY": "6"}),
        lambda text: json.dumps({"@timestamp": "2025-07-09T04:05:06Z", "message": text, "agent": {"type": "x"}}),
        lambda text: json.dumps({"_index": "logs", "_source": json.loads(text)}),
        lambda text: json.dumps({"_index": "logs", "_source": {"@timestamp": "x", "message": text}}),
        lambda text: json.dumps({"insertId": "1", "jsonPayload": json.loads(text), "logName": "n"}),
        lambda text: json.dumps({"preview": False, "result": {"_raw": text, "_time": "x"}}),
        lambda text: json.dumps({"line": text, "timestamp": "2025-07-09T04:05:06Z", "labels": {}}),
        json.dumps,
        lambda text: '"' + text.replace('"', '""') + '"',
        lambda text: "CreateTime:1752026706000\t" + text,
        lambda text: f"CO {text}",
        lambda text: text + "\x04",
        lambda text: repr(text.encode() + b"\x04"),
        lambda text: json.dumps({"topic": "t", "partition": 0, "offset": 7, "value": text}),
        lambda text: json.dumps({"headers": {"destination": "/topic/t"}, "body": json.loads(text)}),
        lambda text: "\x1e" + text,
        lambda text: text + "\x00",
        lambda text: (
            "Jul 09 04:05:06 dtn7 dockerd[5]: "
            + json.dumps({"log": f"\x1b[1m{text}\x1b[0m\n", "stream": "stdout", "time": "t"})
        ),
    ],
)
def test_a_message_in_another_is_read(wrap):
    imported, refused, report = run([wrap(json.dumps(message())), wrap(json.dumps(message(nstreams=3)))], NO_CONTEXT)
    assert (refused, report.format) == ([], "fts")
    assert [item.record.parameters.parallelism for item in imported] == [6, 3]
    assert [item.row for item in imported] == [1, 2]


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_an_array_and_indented_objects_are_read_by_the_lines_that_they_begin_on(indent):
    messages = [message(note='a "quoted" } brace \\'), message(nstreams=2)]
    array, _, _ = run(json.dumps(messages, indent=indent).encode(), NO_CONTEXT)
    several, refused, _ = run("\n".join(json.dumps(each, indent=indent or 2) for each in messages).encode(), NO_CONTEXT)
    for imported in (array, several):
        assert [item.record.parameters.parallelism for item in imported] == [6, 2]
    assert refused == []
    assert several[1].row == len(json.dumps(messages[0], indent=indent or 2).split("\n")) + 1


@pytest.mark.parametrize("between", ["", ",\n", ",", " "])
def test_objects_that_are_not_one_a_line_are_read(between):
    content = between.join(json.dumps(message(nstreams=streams)) for streams in (2, 3, 4))
    imported, refused, _ = run(content.encode(), NO_CONTEXT)
    assert ([item.record.parameters.parallelism for item in imported], refused) == ([2, 3, 4], [])


def test_a_log_of_objects_one_a_line_stays_one_whatever_its_strings_hold():
    lines = [json.dumps(message(note='}{"x": [')), "{cut off,", json.dumps(message())]
    imported, refused, _ = run(lines, NO_CONTEXT)
    assert ([item.row for item in imported], [item.row for item in refused]) == ([1, 3], [2])


def test_an_array_larger_than_a_line_may_be_is_read_and_one_that_is_cut_off_is_reported():
    content = json.dumps([message(note="x" * 20_000 + "\\" * index) for index in range(90)]).encode()
    imported, refused, _ = run(content, NO_CONTEXT)
    assert (len(imported), refused) == (90, [])
    imported, refused, _ = run(content[:-100], NO_CONTEXT)
    assert len(imported) == 89
    assert refused[0].reason == "is a JSON object that is cut off"


def test_an_export_of_a_search_with_all_hits_in_one_document_is_read():
    hits = {
        "took": 3,
        "hits": {"total": 2, "hits": [{"_id": str(n), "_source": message(tr_id=str(n))} for n in range(2)]},
    }
    imported, refused, _ = run(json.dumps(hits, indent=2).encode(), NO_CONTEXT)
    assert (len(imported), refused) == (2, [])


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_packing_and_encoding_do_not_matter(pack, encoding):
    imported, refused, _ = run(pack("\n".join(gridftp_line(file=file) for file in "abc").encode(encoding)), NO_CONTEXT)
    assert (len(imported), refused) == (3, [])


def unwrapped(*texts):
    return [(line.number, line.text) for line in unwrap_lines(Line(n, text) for n, text in enumerate(texts, 1))]


def test_pieces_of_a_long_line_are_put_together():
    head = "2025-07-09T04:05:06.9Z stderr "
    assert unwrapped(head + "P one ", head + "F two", head + "F three") == [(1, "one two"), (3, "three")]
    piece = {"stream": "stderr", "time": "t"}
    long, rest = json.dumps(piece | {"log": "x" * 16384}), json.dumps(piece | {"log": "y\n"})
    assert unwrapped(long, rest) == [(1, "x" * 16384 + "y")]
    long = json.dumps(piece | {"log": "ü" * 8192}, ensure_ascii=False)  # docker counts bytes
    assert unwrapped(long, rest) == [(1, "ü" * 8192 + "y")]


def test_processes_whose_lines_alternate_have_runs_of_their_own():
    first = [stats(10, "2026-03-01T01:00:10+00:00", bytes=1000), stats(20, "2026-03-01T01:00:20+00:00", bytes=4000)]
    second = [stats(4, "2026-03-01T01:00:11+00:00", bytes=300), stats(14, "2026-03-01T01:00:21+00:00", bytes=900)]
    lines = [
        f"Mar 01 01:00:1{place} dtn rclone[{pid}]: {line}"
        for place in range(2)
        for pid, line in ((7, first[place]), (8, second[place]))
    ]
    imported, refused, _ = run(lines)
    assert refused == []
    assert [(item.record.duration_s, item.record.outcome.bytes_moved) for item in imported] == [(20, 4000), (14, 900)]


def test_a_name_with_the_mark_of_a_line_end_is_a_name():
    line = "Sun Mar  1 10:00:20 2026 20 192.0.2.61 4000 /srv/scan#012.tif b _ o r ann ftp 0 * c"
    imported, refused, _ = run([f"Jul  9 04:05:06 dtn7 vsftpd[815]: {line}"])
    assert (len(imported), refused) == (1, [])


def test_a_message_of_several_lines_is_read_where_rsyslog_wrote_their_ends():
    lines = ["2025/07/09 04:05:06 INFO  : ", "Transferred:   \t 1 MiB / 1 MiB, 100%, 50 KiB/s, ETA 0s"]
    lines += ["Transferred: 1 / 1, 100%", "Elapsed time: 20.0s", ""]
    written = "#012".join(lines).replace("\t", "#011")
    imported, refused, _ = run([f"Jul  9 04:05:06 dtn7 copier[815]: {written}"])
    assert ([item.record.duration_s for item in imported], refused) == ([20], [])
