"""Where command lines lead, and addresses that make no sense, of which each tool tells in its own words."""

import pytest

from tradewind.errors import InvalidValue
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.movers import copy_by_tool
from tradewind_agent.movers.addresses import Address, parse_address
from tradewind_agent.movers.baselines import list_baselines
from tradewind_agent.movers.command_line import CommandLine, ParsedWords
from tradewind_agent.movers.curl.file_list import _get_last_segment
from tradewind_agent.movers.rclone.remotes import find_host
from tradewind_agent.movers.registry import InstalledTool, find_mover
from tradewind_agent.movers.url_sizes import find_ends, parse_local_path
from tradewind_agent.movers.wrap.prepare import WrapOptions


@pytest.mark.parametrize("text", ["http://[::1", "http://h:abc/", "gsiftp://[::1/x", "scp://[::1/x", "rsync://[x/y"])
def test_nonsense_has_a_scheme_and_no_host(text):
    assert parse_address(text) == Address(text.partition(":")[0], None, None, "")


def test_nonsense_has_unknown_ends():
    ends = find_ends("http://h:abc/", None)
    assert (ends.source, ends.destination, ends.protocol) == (None, None, "unknown")
    assert parse_local_path("file://[x") is None
    assert _get_last_segment("http://[::1") == ""
    assert find_host(":http,url='http://h:abc/':", ParsedWords({}, ()), {}) == ("http", "http", None)


def ends_of(tool, *words):
    mover = next(each for each in list_baselines() if each.name == tool)
    return mover.parse_task(CommandLine(tool, words, {})).ends


@pytest.mark.parametrize(
    ("tool", "place", "host", "protocol"),
    [
        ("scp", "u@[::1]:/tmp/x", "::1", "ssh"),
        ("scp", "u@host:/tmp/x", "host", "ssh"),
        ("scp", "./a:b", None, "file"),
        ("scp", "scp://[::1/x", None, "scp"),
        ("rsync", "host::module/x", "host", "rsync"),
        ("rsync", "[::1]::module/x", "::1", "rsync"),
        ("rsync", "rsync://[x/y", None, "rsync"),
    ],
)
def test_the_host_of_a_place(tool, place, host, protocol):
    ends = ends_of(tool, place, ".")
    assert (ends.source, ends.protocol) == (host, protocol)


@pytest.mark.parametrize("server", ["[::1]", "u@host"])
def test_a_server_of_sftp_is_remote(server):
    assert ends_of("sftp", server).source is not None


@pytest.mark.parametrize("place", ["ftp://[::1/x", "gsiftp://h:abc/x"])
def test_a_copy_by_globus_from_nowhere_is_refused(place, monkeypatch, tmp_path):
    installed = InstalledTool(find_mover("globus-url-copy"), "globus-url-copy", "10.0")
    monkeypatch.setattr(copy_by_tool, "find_installed", lambda *_: installed)
    wanted = WrapOptions(copy=CopyOptions())
    with pytest.raises(InvalidValue, match="no host, or no possible port"):
        copy_by_tool.prepare_copy_by(
            "globus-url-copy", [place, "/tmp/x"], options=wanted, environment={}, folder=tmp_path
        )
