"""Stamps of runners, objects that stand over several lines of an envelope, and tables drawn in Unicode."""

import json

import pytest

from tests.unit.importers.logs import ENDS, run
from tests.unit.importers.test_fts import message
from tests.unit.importers.test_gridftp import line as gridftp_line
from tests.unit.importers.test_iperf3_tests import END, SETTINGS, START
from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.log_text import SAMPLE_CHARS
from tradewind_agent.history.importers.reading.stamps import find_stamp

STAMPS = {
    "ts": "Mar 01 10:00:30 ",
    "ts with a date": "2026-03-01 10:00:30 ",
    "ts with a date and fractions": "2026-03-01 10:00:30.123456 ",
    "ts -i": "00:00:07 ",
    "ts with seconds since 1970": "1772359230.123456 ",
    "jenkins": "10:00:30  ",
    "gitlab": "2026-03-01T10:00:30.123456Z 01O ",
    "gh run view": "copy\tRun rclone\t2026-03-01T10:00:30.1234567Z ",
}
RCLONE = [
    "2026/03/01 10:00:10 INFO  : a.bin: Copied (new)",
    "2026/03/01 10:00:20 INFO  : ",
    "Transferred:   \t   10.000 MiB / 40.000 MiB, 25%, 1 MiB/s, ETA 30s",
    "Transferred:            1 / 9, 11%",
    "Elapsed time:        20.0s",
    "Transferring:",
    " *                     b.bin: 20% /1.500Gi, 25.600Mi/s, 50s",
    " *                     c.bin: 20% /1.500Gi, 25.600Mi/s, 50s",
    "",
]
WGET = [
    "--2026-03-01 10:00:00--  https://h.example.org/a.bin",
    "HTTP request sent, awaiting response... 206 Partial Content",
    "Length: 30000000 (29M), 10000000 (9.5M) remaining [x/y]",
    "2026-03-01 10:00:04 (2.86 MB/s) - 'a.bin' saved [30000000/30000000]",
]
ARIA2 = [
    "03/01 10:00:00 [NOTICE] Downloading 1 item(s)",
    " *** Download Progress Summary as of Sun Mar  1 10:01:00 2026 *** ",
    "[#aaaaaa 60MiB/90MiB(66%) CN:4 DL:1.0MiB ETA:30s]",
    "03/01 10:01:30 [NOTICE] Download complete: /d/a",
    "gid   |stat|avg speed  |path/URI",
    "aaaaaa|OK  |   1.0MiB/s|/d/a",
]


def describe(lines):
    imported, refused, _ = run(lines)
    assert refused == []
    return [
        (row.record.outcome, row.record.started_at, row.record.parameters.list_known(), row.record.source)
        for row in imported
    ]


@pytest.mark.parametrize("lines", [RCLONE, WGET, ARIA2], ids=["rclone", "wget", "aria2"])
@pytest.mark.parametrize("stamp", STAMPS.values(), ids=STAMPS)
def test_stamp_before_each_line_does_not_matter(lines, stamp):
    assert describe([f"{stamp}{line}" for line in lines]) == describe(lines) != []


def test_lines_that_a_runner_writes_itself_and_blank_ones_do_not_hide_its_stamps():
    own = ["Started by user ann", *(f"10:00:{second:02d}  + step {second}" for second in range(30))]
    stamped = ["", "[Pipeline] sh", *(f"10:00:30  {line}".rstrip() for line in RCLONE)]
    assert describe([*own, *stamped]) == describe(RCLONE)


@pytest.mark.parametrize(
    "lines",
    [
        ["2026-03-01 10:00:00 UTC,20,4000000", "2026-03-01 10:05:00 UTC,20,4000000"],
        ['2026-03-01 10:00:04 URL:https://h.example.org/a [1/1] -> "a" [1]'],
        ["Mar 01 10:00:30 dtn7 copier[815]: 2026/03/01 10:00:10 INFO  : a.bin: Copied (new)"],
        ["10:00:30 one", "10:00:31 two"],
        [],
    ],
    ids=["first column", "wget", "journal", "other program", "empty"],
)
def test_time_of_a_program_or_of_a_first_column_is_no_stamp(lines):
    assert find_stamp(lines, lambda text: "copier[" in text) is None


REPORT = json.dumps({"start": START | SETTINGS, "intervals": [], "end": END}, indent="\t")
ENVELOPES = {
    "github": lambda line: f"2026-03-01T10:00:30.1234567Z {line}",
    "compose": lambda line: f"meter-1  | {line}",
    "journal": lambda line: f"Mar 01 10:00:30 dtn7 iperf3[815]: {line}",
    "json-file": lambda line: json.dumps({"log": f"{line}\n", "stream": "stdout", "time": "2026-03-01T10:00:30Z"}),
}


@pytest.mark.parametrize("wrap", ENVELOPES.values(), ids=ENVELOPES)
def test_report_over_many_lines_is_one_object_within_their_envelopes(wrap):
    (row,), refused, _ = run([wrap(line) for line in REPORT.split("\n")])
    ((plain,), _, _) = run(REPORT.encode())
    assert (row.record.outcome, refused) == (plain.record.outcome, [])


INTERVAL = {"streams": [{"socket": 5, "seconds": 1.0, "comment": "x" * 100}] * 8}
LONG_REPORT = {"start": START | SETTINGS, "intervals": [INTERVAL] * 100, "end": END}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(LONG_REPORT),
        json.dumps(LONG_REPORT, indent="\t"),
        "\n".join(map(ENVELOPES["github"], json.dumps(LONG_REPORT, indent="\t").split("\n"))),
    ],
    ids=["one line", "indented", "in an envelope"],
)
def test_format_of_a_first_object_that_is_longer_than_a_sample_is_detected(text):
    imported, refused, report = run(f"{text}\n".encode())
    assert (len(text) > SAMPLE_CHARS, len(imported), refused, report.format) == (True, 1, [], "iperf3")


def test_command_before_a_report_of_iperf3_is_no_bad_row():
    imported, refused, report = run(["$ iperf3 -c h -J", *REPORT.split("\n")])
    assert (len(imported), refused, report.skipped.total()) == (1, [], 1)


MESSAGES = [json.dumps(message(tr_id=name)) for name in ("one", "two", "three")]


def test_messages_that_only_end_of_transmission_separates_are_read():
    imported, refused, _ = run("\x04".join([*MESSAGES, ""]).encode(), ENDS)
    assert (len(imported), refused) == (3, [])


@pytest.mark.parametrize(
    "write",
    [
        lambda each: repr(json.loads(each)),
        lambda each: json.dumps({"data": each, "metadata": {"topic": "fts"}}),
        lambda each: f"2026-03-01 10:00:30,123 INFO [listener] received: {each}",
    ],
    ids=["printed by Python", "escaped", "logged by Python"],
)
def test_message_that_a_listener_wrote_down_is_read(write):
    imported, refused, _ = run([write(each) for each in MESSAGES], ENDS)
    assert (len(imported), refused) == (3, [])


HEADER = ["start", "end", "bytes", "files", "cc"]
ROW = ["2026-03-01 10:00:00", "2026-03-01 10:00:20", "40000000", "10", "2"]
TYPES = ["timestamp", "timestamp", "int64", "int32", "int32"]


def draw(*rows: list[str]) -> list[str]:
    return ["┌────┬────┐", *(f"│ {' │ '.join(row)} │" for row in rows), "└────┴────┘"]


@pytest.mark.parametrize(
    "lines",
    [draw(HEADER, ROW), [*draw(HEADER, TYPES, ROW)[:-1], "├───┤", "│ 1 rows    5 columns │", "└───┘"]],
    ids=["sqlite", "duckdb"],
)
def test_table_drawn_in_unicode_is_read(lines):
    (row,), refused, _ = run(lines)
    assert (row.record.outcome.bytes_moved, row.record.duration_s, refused) == (40_000_000, 20, [])


def test_table_of_the_keys_of_gridftp_is_read_as_its_lines_are():
    pairs = [pair.partition("=")[::2] for pair in gridftp_line().split(" ")]
    titles, cells = zip(*pairs, strict=True)
    (row,), refused, _ = run([",".join(titles), ",".join(cells)])
    ((plain,), _, _) = run([gridftp_line()])
    assert (row.record.outcome, row.record.source, refused) == (plain.record.outcome, plain.record.source, [])


KNOWN_OUTPUT = {
    "[0] Downloading 'https://h.example.org/a' ...": "wget2",
    "DRYRUN: copy /a to https://acct.blob.core.windows.net/c/a": "dry run",
    "* Connected to h.example.org (192.0.2.1) port 443": "%{json}",
    "time_total:  10.0": "%{json}",
    "Task ID                              | Status    | Type": "-F json",
    "Time                      | Code      | Is Error | Details": "event-list",
    "INFO    Sun, 01 Mar 2026 10:00:00 +0100; Transfer accepted": "/jobs/ID/files",
    "2026-03-01 10:00:00,000\tINFO\tPreparing to download scope:f": "traces",
    "2026/03/01 10:00:20 [123] sent 1,000 bytes  received 35 bytes  50.00 bytes/sec": "rsync",
    'Mar  1 10:00:20 h internal-sftp[1]: close "/a" bytes read 10 written 0': "SFTP",
    '192.0.2.9 - - [01/Mar/2026:10:00:20 +0000] "GET /a HTTP/1.1" 200 10 "-" "x"': "how long",
    '{"source_path": "/a", "destination_path": "/b"}': "task show",
    '{"elapsedTime": 10.0, "totalTransfers": 1, "transferTime": 9.9}': "--use-json-log",
}


@pytest.mark.parametrize(("line", "advice"), KNOWN_OUTPUT.items(), ids=[text[:20] for text in KNOWN_OUTPUT])
def test_output_that_cannot_be_read_is_refused_with_what_to_keep_instead(line, advice):
    with pytest.raises(InvalidValue) as refused:
        run([line])
    assert advice in str(refused.value)


def test_table_without_a_known_title_is_refused_with_its_titles():
    with pytest.raises(InvalidValue, match="columns are Beginn, Ende, Dateien; missing"):
        run(["Beginn;Ende;Dateien", "01.03.2026 10:00:00;01.03.2026 10:00:20;10"])


OTHER_STAMPS = {
    "stern": "copier-7d9f copy ",
    "logcli": '2026-03-01T10:00:30Z {app="copier", pod="x"} ',
    "aws logs tail": "2026-03-01T10:00:30.123000+00:00 copier/x/1234 ",
    "heroku": "2026-03-01T10:00:30.123456+00:00 app[worker.1]: ",
    "podman": "2026-03-01T10:00:30.123456789+00:00 ",
    "mpirun": "[1,0]<stderr>:",
    "srun": "0: ",
    "pm2": "0|copier  | ",
    "foreman": "10:00:30 copier.1 | ",
    "buildkite": "\x1b_bk;t=1772359230123\x07",
    "teamcity": "[10:00:30] :\t [Step 1/1] ",
    "bamboo": "build\t01-Mar-2026 10:00:30\t",
    "airflow": "[2026-03-01, 10:00:30 UTC] {bash.py:93} INFO - ",
    "celery": "[2026-03-01 10:00:30,123: WARNING/ForkPoolWorker-1] ",
    "multilog": "@4000000069a40f6c1d6e3c44 ",
}


@pytest.mark.parametrize("lines", [RCLONE, WGET, ARIA2], ids=["rclone", "wget", "aria2"])
@pytest.mark.parametrize("stamp", OTHER_STAMPS.values(), ids=OTHER_STAMPS)
def test_stamp_of_a_collector_is_learned_from_the_lines_of_the_program(lines, stamp):
    assert describe([f"{stamp}{line}" for line in lines]) == describe(lines)


def test_learned_stamp_differs_from_line_to_line_in_its_numbers_and_levels():
    levels = ("INFO", "WARNING")
    stamps = [f"2026-03-01 10:00:{place:02d},12{place} {levels[place % 2]} copier-7a: " for place in range(9)]
    assert describe([f"{stamp}{line}" for stamp, line in zip(stamps, RCLONE, strict=True)]) == describe(RCLONE)


def test_no_stamp_is_learned_where_a_line_of_a_program_has_none():
    assert find_stamp([RCLONE[0], f"again: {RCLONE[0]}"], lambda _: False) is None


@pytest.mark.parametrize("stamp", ["2026-03-01 10:00:30,123 - copier - INFO - ", "INFO ", "job: "])
def test_stamp_before_the_first_line_of_a_message_alone_is_taken_off(stamp):
    stamped = [f"{stamp}{line}" if line[:1] == "2" else line for line in RCLONE]
    assert describe(stamped) == describe(RCLONE)


def test_lines_of_two_writers_that_alternate_are_refused():
    """By names or by numbers alone: statistics of both would make one wrong run."""
    for writers in (("copier-7d9f", "copier-abcd"), ("rank 0", "rank 1")):
        with pytest.raises(InvalidValue, match="cannot be detected"):
            run([f"{writer} copy {line}" for line in RCLONE for writer in writers])


def test_line_of_another_writer_behind_the_first_ones_is_refused():
    lines = [f"worker 1: {line}" for line in RCLONE] * 30
    imported, refused, _ = run([*lines, f"worker 2: {RCLONE[0]}"])
    assert len(imported) == 1
    assert [(each.row, each.reason.partition(";")[0]) for each in refused] == [
        (len(lines) + 1, "is of another writer than the lines before it")
    ]


@pytest.mark.parametrize(
    "stamps",
    [
        ("30-Nov-2026 23:59:59.123 INFO [main] ", "01-Dec-2026 00:00:09.456 INFO [main] "),
        ("11/30/2026 11:59:58pm | ", "12/01/2026 12:00:09am | "),
        ("[10:00:00 info] ", "[10:00:01 warn] "),
    ],
    ids=["tomcat", "12 hours", "levels"],
)
def test_run_is_one_whatever_its_stamps_say_of_time_and_level(stamps):
    lines = [f"{stamps[place > 3]}{line}" for place, line in enumerate(RCLONE)]
    assert describe(lines) == describe(RCLONE)


def test_program_named_in_a_column_or_a_file_name_teaches_no_stamp():
    table = [
        "start,end,bytes,status,message",
        *(f"2026-01-01T00:0{minute}:00Z,2026-01-01T00:0{minute}:10Z,1000000,ok," for minute in range(4)),
        f"2026-01-01T00:05:00Z,2026-01-01T00:05:10Z,1000000,failed,{RCLONE[0].replace('INFO  ', 'ERROR ')}",
    ]
    imported, refused, _ = run(table, ENDS)
    assert ([row.record.outcome.bytes_moved for row in imported if row.record.outcome.files_done], refused) == (
        [1_000_000] * 4,
        [],
    )
    names = ("paint [#ff0000 1].png", "paint [#ff0000 1MiB/2MiB].png", f"{RCLONE[0]}.png")
    for name in names:
        files = ["other.png", *[name] * 8]
        lines = [gridftp_line(file=f"/a/{file}", nbytes=f"{place}00") for place, file in enumerate(files, 1)]
        imported, refused, _ = run(lines)
        assert ([row.record.outcome.bytes_moved for row in imported], refused) == ([*range(100, 1000, 100)], [])


@pytest.mark.parametrize("job", ["数据传输任务" * 12, "aébécédé" * 8 + " x"], ids=["chinese", "czech"])
def test_job_name_of_any_letters_is_a_stamp(job):
    """Each of these letters for itself was once a pattern of any length: no line was ever done."""
    lines = [f"{job}: {line}" for line in RCLONE]
    assert describe([*lines, "é" * 200]) == describe(lines) == describe(RCLONE)
