"""What aws and s5cmd print, and what is known by it."""

import json

import pytest

from tradewind.errors import InvalidValue
from tradewind_agent.movers.aws.command import parse_words
from tradewind_agent.movers.aws.output import AwsOutput
from tradewind_agent.movers.command_line import CommandLine
from tradewind_agent.movers.port import ToolResult
from tradewind_agent.movers.s5cmd.output import S5cmdOutput

SIZES = {"src/a to b": 1000, "src/big": 20_000_000}


def read_aws(text, chunk=7):
    reader = AwsOutput(lambda source, _destination: SIZES.get(source), reports=True)
    reader.note_started()
    data = text.encode()
    shown = b"".join(reader.read_output(data[at : at + chunk]) for at in range(0, len(data), chunk))
    assert shown + reader.read_output(b"") == data
    return reader


def test_aws_lines_between_progress_name_the_files_that_were_moved():
    reader = read_aws(
        "Completed 256.0 KiB/38.2 MiB (1.9 MiB/s) with 2 file(s) remaining\r"
        "upload: src/a to b to s3://bkt/p/a to b                          \n"
        "Completed 1.5 MiB/38.2 MiB (1.9 MiB/s) with 1 file(s) remaining\r"
    )
    assert reader.files.result == ToolResult(1000, 1, 0)
    assert reader.bytes_under_way == 1_572_864
    assert read_aws("upload: src/big to s3://b/k\nmove: src/a to b to s3://b/k2").files.result == ToolResult(
        20_001_000, 2, 0
    )


def test_dry_run_of_aws_moves_nothing():
    reader = read_aws("(dryrun) upload: src/big to s3://b/k\n")
    assert (reader.files.result, reader.is_readable) == (ToolResult(0, 0, 0), True)


def test_file_whose_size_cannot_be_found_makes_the_output_unreadable():
    assert not read_aws("upload: elsewhere to s3://b/k\n").is_readable


@pytest.mark.parametrize(
    ("line", "may_succeed"),
    [
        ("upload failed: src/big to s3://b/k An error occurred (SlowDown) when calling the PutObject operation", True),
        ("upload failed: src/big to s3://b/k Could not connect to the endpoint URL", True),
        ("upload failed: src/big to s3://b/k An error occurred (AccessDenied) when calling the PutObject", False),
        ("fatal error: An error occurred (404) when calling the HeadObject operation", False),
        ("fatal error: An error occurred (ServiceUnavailable) when calling the ListObjectsV2 operation", True),
    ],
)
def test_reason_of_a_failure_says_whether_less_load_may_help(line, may_succeed):
    reader = AwsOutput(lambda *_: None, reports=True)
    assert reader.read_errors(f"{line}\n".encode()) == f"{line}\n".encode()
    assert (reader.files.has_reasons, reader.files.may_succeed_later) == (True, may_succeed)


def words_of(*arguments):
    return parse_words(CommandLine("aws", arguments, {}))


def test_options_of_aws_with_optional_values_leave_the_places_alone():
    words = words_of("--profile", "lab", "s3", "cp", "a", "s3://b/k", "--sse", "--recursive", "--grants", "x=y", "z=w")
    assert (words.verb, words.source, words.destination, words.is_folder) == ("cp", "a", "s3://b/k", True)
    assert words_of("s3", "cp", "--sse", "aws:kms", "a", "s3://b/k").source == "a"


@pytest.mark.parametrize(
    "arguments", [("s3", "ls", "s3://b"), ("s3", "cp", "-", "s3://b/k"), ("s3", "cp", "a", "b"), ("ec2", "x", "a", "b")]
)
def test_command_of_aws_that_copies_no_files_is_refused(arguments):
    with pytest.raises(InvalidValue):
        words_of(*arguments)


def test_last_filter_that_matches_decides_what_is_measured(tmp_path):
    for name in ("a.nc", "b.nc", "c.txt"):
        (tmp_path / name).write_bytes(b"x")
    words = words_of("s3", "sync", str(tmp_path), "s3://b/", "--exclude", "*", "--include", "*.nc", "--exclude", "b*")
    assert words.list_sizes(None) == {f"{tmp_path}/a.nc": 1}


def read_s5cmd(*messages, **changes):
    options = {"is_read": True, "as_json": False, "counts": True} | changes
    reader = S5cmdOutput({"s3://b/k": 5}, **options)
    lines = "".join(f"{json.dumps(each)}\n" for each in messages).encode()
    return reader, (reader.read_output(lines) + reader.read_output(b"")).decode()


def test_messages_of_s5cmd_become_the_words_that_it_has_without_json():
    object_ = {"type": "file", "size": 1000}
    reader, shown = read_s5cmd(
        {"operation": "cp", "success": True, "source": "a to b", "destination": "s3://b/x", "object": object_},
        {"operation": "cp", "success": True, "source": "empty", "destination": "s3://b/y", "object": {"type": "file"}},
        {"operation": "mv", "success": True, "source": "s3://b/k", "destination": "s3://b/z", "object": {}},
        {"operation": "rm", "success": True, "source": "s3://b/old"},
        {"operation": "cp", "command": 'cp "q" x', "error": "SlowDown: slow"},
        {"operation": "cp", "success": 3, "error": 1},
    )
    assert reader.files.result == ToolResult(1005, 3, 1)
    assert reader.files.may_succeed_later
    assert shown.splitlines() == [
        "cp a to b s3://b/x",
        "cp empty s3://b/y",
        "mv s3://b/k s3://b/z",
        "rm s3://b/old",
        r'ERROR "cp \"q\" x": SlowDown: slow',
        "",
        "Operation\tTotal\tError\tSuccess\t",
        "cp\t\t4\t1\t3\t",
        "",
    ]


def test_messages_stay_json_for_a_user_who_wants_that():
    message = {"operation": "cp", "success": True, "source": "a", "destination": "s3://b/x", "object": {"size": 7}}
    reader, shown = read_s5cmd(message, as_json=True)
    assert (json.loads(shown), reader.files.result.bytes_moved) == (message, 7)


def test_dry_run_of_s5cmd_moves_nothing():
    message = {"operation": "cp", "success": True, "source": "a", "destination": "s3://b/x", "object": {"size": 7}}
    assert read_s5cmd(message, counts=False)[0].files.result == ToolResult(0, 0, 0)
