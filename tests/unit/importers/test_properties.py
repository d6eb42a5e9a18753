"""No input crashes an importer: it ends in records that the service takes, refused rows, or one error that says why."""

import gzip
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.importers.logs import ENDS, ENERGY_HEADER, GRID_HEADER, clock, energy_row, grid_row
from tests.unit.importers.test_aria2 import LOG
from tests.unit.importers.test_fts import message
from tests.unit.importers.test_gridftp import line
from tests.unit.importers.test_rclone import copied, stats
from tradewind.errors import TradewindError
from tradewind.wire.records import WireRecord
from tradewind_agent.history.importers.detect import FORMATS
from tradewind_agent.importers import ImportedRow, RefusedRow, import_file

SAMPLES = {
    "csv": [GRID_HEADER, *[grid_row(cc=str(cc)) for cc in (1, 2, 4)], ENERGY_HEADER],
    "energy": [ENERGY_HEADER, *[energy_row(start=clock(row)) for row in range(3)]],
    "gridftp": [line(), line(kind="STOR"), line(code="500")],
    "rclone": [copied(), stats(10, in_flight=2), stats(20)],
    "fts": [json.dumps(message()), json.dumps({"data": message()})],
    "aria2": LOG,
}
ODD = st.sampled_from(
    [
        "",
        "nan",
        "-1",
        "1e400",
        "1e308",
        "-inf",
        "0",
        "9" * 400,
        "na",
        "\x00",
        "é",
        '"',
        "١٢",
        "2e-320",
        "true",
        "0x10",
        "🙂",
    ]
)


def outcome_of(content: bytes, format: str) -> None:  # noqa: A002
    """Import and check every row; only errors of the project's own tree may end it."""
    try:
        importing = import_file(io.BytesIO(content), format=format, context=ENDS)
        count = 0
        for item in importing:
            count += 1
            if isinstance(item, ImportedRow):
                WireRecord.from_domain(item.record).to_line()
                assert item.record.ended_at > item.record.started_at
            else:
                assert isinstance(item, RefusedRow)
                assert item.field
                assert item.reason
                assert "\n" not in item.reason
        assert importing.report.rows_read == count
    except TradewindError as stopped:
        assert "\n" not in str(stopped)  # noqa: PT017  # any other error fails the test by itself


@settings(max_examples=40, deadline=None)
@given(content=st.binary(max_size=400), format=st.sampled_from(["auto", *FORMATS]))
def test_random_bytes(content, format):  # noqa: A002
    outcome_of(content, format)


@settings(max_examples=40, deadline=None)
@given(text=st.text(max_size=300), name=st.sampled_from(sorted(SAMPLES)), at=st.integers(0, 3))
def test_random_text_between_good_lines(text, name, at):
    lines = list(SAMPLES[name])
    lines.insert(at, text)
    outcome_of("\n".join(lines).encode(errors="replace"), "auto")


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(sorted(SAMPLES)), cut=st.integers(0, 1500), packed=st.booleans())
def test_logs_that_are_cut_off_anywhere(name, cut, packed):
    content = "\n".join(SAMPLES[name]).encode()
    content = gzip.compress(content) if packed else content
    outcome_of(content[:cut], "auto")


@settings(max_examples=100, deadline=None)
@given(name=st.sampled_from(["csv", "energy"]), data=st.data())
def test_odd_values_in_any_field_of_a_csv(name, data):
    lines = list(SAMPLES[name])
    fields = lines[2].split(",")
    for _ in range(data.draw(st.integers(1, 3))):
        fields[data.draw(st.integers(0, len(fields) - 1))] = data.draw(ODD)
    lines[2] = ",".join(fields)
    outcome_of("\n".join(lines).encode(), "csv")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(ODD | st.text(max_size=12), min_size=3, max_size=12), min_size=1, max_size=6))
def test_a_csv_of_nothing_but_odd_values(rows):
    lines = ["Throughput,FileSize,P,CC,StartTime,TotalEnergy,Bandwidth,RTT", *(",".join(row) for row in rows)]
    outcome_of("\n".join(lines).encode(errors="replace"), "csv")


@settings(max_examples=100, deadline=None)
@given(
    field=st.sampled_from(["date", "start", "nbytes", "streams", "dest", "kind", "code", "buffer", "file"]), value=ODD
)
def test_odd_values_in_any_field_of_a_gridftp_line(field, value):
    outcome_of("\n".join([line(), line(**{field: value})]).encode(), "gridftp")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ODD | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(key=st.sampled_from(sorted(message())), value=JSON)
def test_odd_values_in_any_field_of_an_fts_message(key, value):
    outcome_of("\n".join([json.dumps(message()), json.dumps(message(**{key: value}))]).encode(), "fts")


@settings(max_examples=60, deadline=None)
@given(
    key=st.sampled_from(
        ["bytes", "totalBytes", "transfers", "totalTransfers", "errors", "elapsedTime", "transferTime", "transferring"]
    ),
    value=JSON,
    spoken=JSON,
)
def test_odd_values_in_rclone_stats(key, value, spoken):
    lines = [copied(size=value), copied(msg=spoken), copied(time=spoken), stats(5, **{key: value}), stats(9)]
    outcome_of("\n".join(lines).encode(), "rclone")


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, len(LOG) - 1), old=st.sampled_from(["MiB", "06", "10", "|", " ", ":", "/"]), new=ODD)
def test_odd_values_in_an_aria2_log(at, old, new):
    lines = list(LOG)
    lines[at] = lines[at].replace(old, new)
    outcome_of("\n".join(lines).encode(), "aria2")


@pytest.mark.parametrize("name", sorted(SAMPLES))
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "cp037"])
def test_logs_in_other_encodings(name, encoding):
    outcome_of("\n".join(SAMPLES[name]).encode(encoding), "auto")


@pytest.mark.parametrize("format", FORMATS)
def test_a_huge_line(format):  # noqa: A002
    outcome_of(b"x" * (3 << 20) + b"\n" + b"y,z\n", format)
