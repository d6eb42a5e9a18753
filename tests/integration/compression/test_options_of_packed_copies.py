"""Options of every copy hold for packed ones: the engine moves both."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.agent.support.command import environment, run
from tests.integration.compression.contents import digits
from tests.integration.engine.servers.web_servers import nginx
from tests.integration.serve_files.serving import serving
from tradewind_agent.serve import Server

DIGITS = digits(1_200_000)
FILES = ("a.csv", "b.csv")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("served")
    (folder / "data").mkdir()
    for name in FILES:
        (folder / "data" / name).write_bytes(DIGITS)
    with serving(folder, writable=True) as running:
        yield running


SLOW = ("--bandwidth", "100kbps", "--rtt", "1ms")

OPTIONS = [
    ("--sla", "deadline=2h"),
    ("--parallelism", "2"),
    ("--pipelining", "4"),
    ("--io-block", "64KiB"),
    ("--no-tune",),
    ("--tick", "1s"),
    ("--wait", "1min"),
    ("--limit-rate", "200Mbps"),
    ("--limit-disk", "200Mbps"),
    ("--apply-resources",),
    ("--load", "0.5"),
]


@pytest.mark.parametrize("option", OPTIONS, ids=[option[0] for option in OPTIONS])
def test_option_of_every_copy_holds_for_packed_files(server: Server, tmp_path: Path, option: tuple[str, ...]) -> None:
    ends = f"{server.url}data/", str(tmp_path / "down")
    done = run("copy", "--compress", "auto", "--json", *SLOW, *option, *ends, env=environment(tmp_path))
    assert done.code == 0, done.err
    assert all((tmp_path / "down" / name).read_bytes() == DIGITS for name in FILES)
    assert done.document["ratio"] > 1.5


def test_load_needs_no_bandwidth(server: Server, tmp_path: Path) -> None:
    ends = f"{server.url}data/", str(tmp_path / "down")
    done = run("copy", "--compress", "gzip:1", "--load", "0.5", "--json", *ends, env=environment(tmp_path))
    assert done.code == 0, done.err
    assert done.document["used"] == {"gzip:1": 2 * len(DIGITS)}


@pytest.mark.parametrize("upload", [True, False], ids=["upload", "download"])
@pytest.mark.parametrize("option", ["--limit-rate", "--limit-disk"])
def test_rate_limit_counts_what_it_limits(server: Server, tmp_path: Path, option: str, upload: bool) -> None:
    (tmp_path / "a.csv").write_bytes(DIGITS)
    here, there = str(tmp_path / "a.csv"), f"{server.url}up-{option[2:]}.csv"
    ends = (here, there) if upload else (f"{server.url}data/a.csv", str(tmp_path / "down.csv"))
    limit_bps = 4e6
    done = run("copy", "--compress", "gzip:6", option, "4Mbps", "--json", *ends, env=environment(tmp_path))
    assert done.code == 0, done.err
    limited_bytes = done.document["packed_bytes" if option == "--limit-rate" else "bytes_moved"]
    most_bytes = limit_bps / 8 * (done.document["duration_s"] + 0.2) + 256 * 1024  # what the last block owes
    assert limited_bytes < most_bytes
    assert done.document["packed_bytes"] < 0.6 * done.document["bytes_moved"]


def test_sla_is_reported_of_a_packed_copy(server: Server, tmp_path: Path) -> None:
    ends = f"{server.url}data/", str(tmp_path / "down")
    done = run("copy", "--compress", "zstd:1", "--sla", "deadline=2h", "--json", *ends, env=environment(tmp_path))
    assert done.code == 0, done.err
    assert done.document["agreement_kept"] is True
    assert done.document["timeline"], "its parameters are tuned"


def test_dry_run_shows_plan_and_choice_and_moves_nothing(server: Server, tmp_path: Path) -> None:
    ends = f"{server.url}data/", str(tmp_path / "down")
    done = run("copy", "--compress", "auto", "--dry-run", "--json", *SLOW, *ends, env=environment(tmp_path))
    assert done.code == 0, done.err
    assert done.document["dry_run"] is True
    assert "2 files (2.4 MB) packed on their way" in done.document["notes"][0]
    assert not (tmp_path / "down").exists()


def test_batch_copies_its_jobs_packed(server: Server, tmp_path: Path) -> None:
    jobs = [
        {"name": name, "sources": [f"{server.url}data/{name}"], "destination": str(tmp_path / name)} for name in FILES
    ]
    (tmp_path / "jobs").write_text("\n".join(map(json.dumps, jobs)))
    home = tmp_path / "home"
    env = environment(home, TRADEWIND_SPOOL=str(home / "spool"))
    batch = ("--batch", str(tmp_path / "jobs"), "--radio", "lte")
    done = run("copy", "--compress", "gzip:1", *batch, "--json", env=env)
    assert done.code == 0, done.err
    assert all((tmp_path / name).read_bytes() == DIGITS for name in FILES)
    rows = b"".join(segment.read_bytes() for segment in (home / "spool").glob("*.ndjson"))
    assert rows.count(b'"gzip:1"') >= len(FILES)


def test_codec_for_a_server_that_does_not_unpack_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    for folder in ("set", "root", "work"):
        (tmp_path / folder).mkdir()
    (tmp_path / "set" / "a.csv").write_bytes(DIGITS)
    with nginx(tmp_path / "root", tmp_path / "work", server="dav_methods PUT;") as other:
        ends = str(tmp_path / "set"), other.url
        done = run("copy", "--compress", "zstd", *ends, env=environment(tmp_path / "home"))
    assert done.code == 2
    assert "does not unpack files; tradewind serve-files alone unpacks" in done.error
    assert list((tmp_path / "root").iterdir()) == []


def test_other_movers_are_refused_with_their_reason(tmp_path: Path) -> None:
    done = run(
        *("copy", "--compress", "auto", "--mover", "curl", "http://127.0.0.1:9/a", str(tmp_path)),
        env=environment(tmp_path),
    )
    assert done.code == 2
    assert "curl does not pack files on their way" in done.err
