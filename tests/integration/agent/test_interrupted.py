"""Ctrl-C, as a user presses it: a signal to another process."""

import json
import signal
from random import Random

import pytest

from benchmarks.emulation.path import emulate
from benchmarks.emulation.profile import PathProfile
from tests.conditions import eventually, stretched
from tests.integration.agent.support.command import PATIENCE_S, environment, run, start
from tests.integration.serve_files.serving import event_loop, serving

SMALL, LARGE = 20_000, 3_000_000
BY_HAND = ("--concurrency", "2", "--parallelism", "1", "--pipelining", "1", "--base-power", "0s")


@pytest.fixture
def env(tmp_path):
    return environment(tmp_path / "home")


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    random = Random(1)
    for number in range(3):
        (folder / f"small{number}").write_bytes(random.randbytes(SMALL))
    (folder / "large").write_bytes(random.randbytes(LARGE))
    return folder


@pytest.fixture
def origin(files):
    with serving(files) as server:
        yield server


@pytest.fixture
def slow_address(origin):
    """The origin behind a path that takes some seconds for the large file."""
    with event_loop() as run_in_loop:
        path = run_in_loop(emulate(PathProfile(rate_bps=8e6, rtt_s=0.002), ("127.0.0.1", origin.port)))
        try:
            yield f"http://127.0.0.1:{path.port}/"
        finally:
            run_in_loop(path.close())


def interrupt(*arguments, env, when, by=signal.SIGINT):
    """Start a command, press Ctrl-C (or send ``by``) once ``when`` holds; its exit code and output."""
    with start(*arguments, env=env) as process:
        eventually(lambda: process.poll() is not None or when(), patience_s=stretched(PATIENCE_S))
        assert process.poll() is None, process.stderr.read()
        process.send_signal(by)
        out, err = process.communicate(timeout=stretched(PATIENCE_S))
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("as_json", [False, True])
def test_an_interrupted_copy_keeps_what_it_has_and_says_how_to_go_on(
    slow_address, origin, files, env, tmp_path, as_json
):
    target = tmp_path / "copy"
    part = target / ".large.tradewind-part"

    def are_small_files_done_and_the_large_one_started():
        return all((target / f"small{number}").exists() for number in range(3)) and part.exists()

    options = (*BY_HAND, *(["--json"] if as_json else []))
    code, out, err = interrupt(
        "copy", slow_address, str(target), *options, env=env, when=are_small_files_done_and_the_large_one_started
    )
    assert code == 130
    assert err == ""
    if as_json:
        document = json.loads(out)
        assert (document["status"], document["files_done"]) == ("cancelled", 3)
        first_bytes = document["bytes_moved"]
    else:
        assert out.startswith("interrupted; run the same command again to resume; moved ")
        assert out.count("\n") == 1
        first_bytes = 3 * SMALL
    assert part.exists()
    assert not (target / "large").exists()
    again = run("copy", origin.url, str(target), *BY_HAND, "--json", env=env)
    assert again.code == 0
    assert again.document["files_skipped"] == 3
    assert again.document["bytes_moved"] <= LARGE + 3 * SMALL - first_bytes
    assert {path.name: path.read_bytes() for path in target.iterdir()} == {
        path.name: path.read_bytes() for path in files.iterdir()
    }


@pytest.mark.parametrize(
    ("by", "in_background"), [(signal.SIGTERM, False), (signal.SIGTERM, True), (signal.SIGHUP, False)]
)
def test_a_copy_that_is_stopped_otherwise_ends_as_cleanly(slow_address, env, tmp_path, by, in_background):
    target = tmp_path / "copy"
    # A script's job in the background ignores SIGINT, which its processes inherit; these tests may ignore SIGHUP.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if in_background else None
    heard_before = signal.signal(by, signal.SIG_DFL)
    try:
        code, out, _ = interrupt(
            "copy",
            slow_address,
            str(target),
            *BY_HAND,
            env=env,
            by=by,
            when=(target / ".large.tradewind-part").exists,
        )
    finally:
        signal.signal(by, heard_before)
        if in_background:
            signal.signal(signal.SIGINT, before)
    assert code == 130
    assert out.startswith("interrupted; run the same command again to resume; ")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_command_that_is_interrupted_says_so(env, as_json):
    options = ["--json"] if as_json else []
    with start("meter", "--duration", "1h", "--interval", "100ms", "--base-power", "0s", *options, env=env) as process:
        try:
            told = process.stderr.readline()  # how it meters: it is under way
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=stretched(PATIENCE_S))
        finally:
            process.kill()
    assert process.returncode == 130
    assert told.startswith(b"tradewind: ")
    assert err.endswith(b"tradewind: stopped\n")
    if as_json:
        assert json.loads(out.splitlines()[-1]) == {"error": "stopped", "exit_code": 130}
