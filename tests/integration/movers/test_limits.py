"""Limits of this host's resources on wrapped tools: on every process of theirs, said, logged, and taken off again."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.conditions import eventually
from tests.endings import Program, is_gone
from tests.integration.agent.support.command import environment, run, start
from tests.integration.movers.driving import WAN, arguments_of, recommending, tool_process
from tests.integration.resources.children import cpus_of, groups_of, notes
from tradewind_agent.movers.wrap.run import run_wrap
from tradewind_agent.movers.wrap.run_tool import _make_gated_words
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import Limits
from tradewind_agent.session.logbook import Logbook

RATE_BPS = 800_000.0
RATE = RATE_BPS / 8


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "resources"


@pytest.fixture
def limited(drive, ledger):
    """Runs a command line under limits, looking at its process all the while."""

    def limited(limits, *line, look=lambda _: None, say=lambda _: None, **recommended):
        copy = replace(WAN, resources=limits)
        service = recommending(**({"concurrency": 2} | recommended))
        prepared = drive.prepare(*line, service=service, copy=copy)

        def seen(_):
            if (process := tool_process()) is not None:
                look(process)

        book = Logbook(spool=drive.spool)
        return run_wrap(prepared, logbook=book, on_tick=seen, say=say, limiter=ResourceLimiter(ledger))

    return limited


def lines(slow, tmp_path):
    """Command lines of tools that last for some seconds."""
    (tmp_path / "list").write_text("".join(f"{slow.url}f{number:02}\n" for number in range(6)))
    return {
        "aria2c": ("aria2c", "-q", "-d", tmp_path / "to", "-i", tmp_path / "list"),
        "curl": ("curl", "-s", "--output-dir", tmp_path, "--remote-name-all", f"{slow.url}f0[0-5]"),
        "rclone": ("rclone", "copy", "--http-url", slow.url, "--max-depth", "1", ":http:", tmp_path / "to"),
    }


@pytest.mark.parametrize("tool", ["aria2c", "curl", "rclone"])
def test_every_thread_of_the_tool_is_bound_and_nothing_is_left_behind(limited, ledger, slow, tmp_path, tool):
    here, groups_here = os.sched_getaffinity(0), groups_of(os.getpid())
    cpus, groups, said = set(), [], []

    def look(process):
        for task in Path(f"/proc/{process.pid}/task").iterdir():
            cpus.add(frozenset(os.sched_getaffinity(int(task.name))))
        groups.append(groups_of(process.pid))

    limits = Limits(cores=1, memory_bytes=1 << 30)
    report = limited(limits, *lines(slow, tmp_path)[tool], look=look, say=said.append)
    assert report.exit_code == 0
    (bound,) = cpus
    assert len(bound) == 1
    assert os.sched_getaffinity(0) == here  # the agent itself is not bound
    assert groups_of(os.getpid()) == groups_here
    told = report.build_document()["resources"]
    assert {each["resource"] for each in (*told["enforced"], *told["advice"])} == {"cores", "memory_bytes"}
    if any(each["resource"] == "memory_bytes" for each in told["enforced"]):
        *while_it_ran, _ = groups  # at the last look it may be ending, and then it is in no group any more
        assert while_it_ran
        assert all("/tradewind-" in each for each in while_it_ran)
    assert any(line.startswith("the tool is limited to 1 core: ") for line in said)
    assert report.records[0].parameters.cores == 1
    assert notes(ledger) == []


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("aria2c", f"--max-overall-download-limit={RATE:.0f}"),
        ("curl", f"--limit-rate {RATE / 2:.0f}"),
        ("rclone", f"--bwlimit {RATE:.0f}B"),
    ],
)
def test_rate_limit_is_set_by_the_tools_own_option(limited, slow, tmp_path, tool, words):
    seen = set()
    report = limited(
        Limits(nic_bps=RATE_BPS),
        *lines(slow, tmp_path)[tool],
        look=lambda process: seen.add(" ".join(arguments_of(process))),
    )
    assert any(words in each for each in seen)
    assert report.throughput_bps <= 1.6 * RATE_BPS  # curl counts the first buffer of each file late
    assert report.records[0].parameters.nic_bps == RATE_BPS


def test_each_request_of_curl_gets_the_rate(limited, slow, tmp_path):
    first, second = (("-s", "-o", str(tmp_path / name), f"{slow.url}{name}") for name in ("f00", "f01"))
    report = limited(Limits(nic_bps=RATE_BPS), "curl", *first, "--next", *second)
    words = report.commands[0].words
    anew = words.index("--next")
    assert (words[:anew].count("--limit-rate"), words[anew:].count("--limit-rate")) == (1, 1)
    assert report.exit_code == 0
    assert report.throughput_bps <= 1.6 * RATE_BPS


@pytest.mark.parametrize(("tool", "words"), [("scp", ["-l", "781"]), ("rsync", ["--bwlimit=97"])])
def test_a_baseline_keeps_a_rate_by_its_own_option_too(limited, tmp_path, tool, words):
    (tmp_path / "from").write_bytes(os.urandom(1000))
    report = limited(Limits(nic_bps=RATE_BPS), tool, tmp_path / "from", tmp_path / "to")
    assert list(report.commands[0].words[1 : 1 + len(words)]) == words
    assert (report.exit_code, (tmp_path / "to").stat().st_size) == (0, 1000)


def test_rate_set_by_user_wins_and_is_reported(limited, slow, tmp_path, monkeypatch):
    monkeypatch.setenv("RCLONE_BWLIMIT", "10M")
    report = limited(Limits(nic_bps=RATE_BPS), *lines(slow, tmp_path)["rclone"])
    assert "--bwlimit" not in report.commands[0].words
    (advice,) = report.build_document()["resources"]["advice"]
    assert "the --bwlimit that you have set" in advice["why"]
    assert report.records[0].parameters.nic_bps == 80 * 2**20


def test_a_tool_without_an_option_for_a_rate_says_so(limited, grid, tmp_path):
    (tmp_path / "from").write_bytes(bytes(1000))
    said = []
    line = ("globus-url-copy", grid.url(tmp_path / "from"), f"file://{tmp_path}/to")
    report = limited(Limits(nic_bps=RATE_BPS), *line, say=said.append)
    assert report.exit_code == 0
    assert any("only advised" in each and "globus-url-copy has no option for a rate" in each for each in said)


def running_under(pid):
    """The aria2c that moves the files, not one that is only asked for its options."""
    children = [each for each in psutil.Process(pid).children() if each.name() == "aria2c"]
    return next((each for each in children if any("--conf-path" in word for word in arguments_of(each))), None)


def test_next_start_frees_the_limits_of_a_killed_agent(slow, tmp_path):
    env = environment(tmp_path / "home", TRADEWIND_SPOOL=str(tmp_path / "spool"))
    line = ("--limit-cores", "1", "--limit-memory", "1GiB", "--base-power", "0s", "--no-tune", "--files", "6")
    # It has to be there still when all is looked at, however busy the machine is. By itself it would end soon after its
    # agent, which asks for it; and as a zombie it is in no group any more.
    lasting = ("-j1", "--max-download-limit=1K", f"--stop-with-process={os.getpid()}")
    words = ("--bytes", "600kB", "--", *map(str, lines(slow, tmp_path)["aria2c"]), *lasting)
    with start("wrap", *line, *words, env=env) as agent:
        ledger = Path(env["HOME"]) / ".local/state/tradewind/resources"
        tool = eventually(lambda: running_under(agent.pid) if ledger.is_dir() and notes(ledger) else None)
        unlimited = cpus_of(agent.pid), groups_of(agent.pid)  # where the tool was born
        assert len(cpus_of(tool.pid)) == 1
        agent.send_signal(signal.SIGKILL)
        agent.wait()
        assert notes(ledger) != []
        run("doctor", env=env)
        assert not is_gone(tool)
        assert (cpus_of(tool.pid), groups_of(tool.pid)) == unlimited
        assert notes(ledger) == []
        tool.kill()


def test_tool_never_starts_if_agent_exits_before_limits_are_set(tmp_path):
    gate, opener = os.pipe()
    words = (*_make_gated_words(gate), "touch", str(tmp_path / "begun"))
    with Program(words, pass_fds=(gate,)) as waiting:
        os.close(gate)
        os.close(opener)
        assert waiting.wait(timeout=60) != 0
    assert not (tmp_path / "begun").exists()


def test_a_copy_by_another_tool_takes_the_same_limits(slow, tmp_path):
    env = environment(tmp_path / "home", TRADEWIND_SPOOL=str(tmp_path / "spool"))
    limits = ("--limit-cores", "1", "--limit-rate", "80Mbps", "--base-power", "0s", "--json")
    ended = run("copy", *limits, "--mover", "aria2", f"{slow.url}fast/f00", str(tmp_path / "f00"), env=env)
    assert ended.code == 0, ended.err
    assert [each["resource"] for each in ended.document["resources"]["enforced"]] == ["cores", "nic_bps"]
    assert "--max-overall-download-limit=10000000" in ended.document["commands"][0]
