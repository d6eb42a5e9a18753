import json

import pytest

from tradewind_agent.cli.app import run

COMMANDS = [
    "copy",
    "wrap",
    "recommend",
    "logs",
    "logs upload",
    "logs watch",
    "serve-files",
    "transport install",
    "transport status",
    "meter",
    "login",
    "doctor",
]


@pytest.fixture(autouse=True)
def nobody(monkeypatch, tmp_path):
    """A user of whom nothing is known, and a service that no test of usage may reach."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    monkeypatch.setenv("TRADEWIND_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("TRADEWIND_KEY", "key")
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_takes_json(command, capsys):
    assert run([*command.split(), "--help"]) == 0
    told = capsys.readouterr()
    assert "Usage" in told.out
    assert told.err == ""
    assert ("--json" in told.out) == (command != "logs")
    assert "<bool>" not in told.out  # a switch takes no value


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["copy"],
        ["copy", "http://host/"],
        ["copy", "http://host/", "/there", "--sla", "fastest"],
        ["copy", "http://host/", "/there", "--sla", "deadline"],
        ["copy", "http://host/", "/there", "--concurrency", "0"],
        ["copy", "http://host/", "/there", "--bandwidth", "fast"],
        ["copy", "http://host/", "/there", "--confidence", "2"],
        ["copy", "http://host/", "/there", "--power-profile", "5W"],
        ["copy", "http://host/", "/there", "--no-such-option"],
        ["copy", "http://host/", "/there", "--io-block", "0"],
        ["copy", "http://host/", "/there", "--io-block", "1000"],
        ["copy", "http://host/", "/there", "--manifest", "/no/such/list"],
        ["copy", "ftp://host/", "/there"],
        ["copy", "http://[host/", "/there"],
        ["copy", "/here", "http://host:port/"],
        ["recommend", "a", "b"],
        ["recommend", "a", "b", "--bytes", "1XB"],
        ["recommend", "a", "b", "--bytes", "1GB", "--flags", "scp"],
        ["recommend", "a", "b", "--bytes", "1e30B"],
        ["recommend", "a", "b", "--bytes", "1GB", "--files", "99999999999999999999"],
        ["recommend", "a", "b", "--bytes", "1GB", "--bandwidth", "1e30bps"],
        ["recommend", "a", "b", "--bytes", "1GB", "--rtt", "1e30s"],
        ["recommend", "", "b", "--bytes", "1GB"],
        ["recommend", "a", "b" * 201, "--bytes", "1GB"],
        ["logs"],
        ["logs", "upload"],
        ["logs", "upload", "/no/such/log"],
        ["logs", "upload", "-", "--timezone", "Mars/Olympus"],
        ["logs", "upload", "-", "--format", "xml"],
        ["logs", "watch", "/no/such/folder"],
        ["serve-files", "/no/such/folder"],
        ["serve-files", ".", "--certificate", "/no/such.pem"],
        ["login", "not-an-address", "--key", "k"],
        ["login", "http://host"],
        ["meter", "--duration", "forever"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments, capsys):
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("tradewind: ")
    assert told.err.count("\n") == 1
    assert "pydantic" not in told.err


@pytest.mark.parametrize(
    ("arguments", "example"),
    [
        (["copy", "http://host/", "/there", "--bandwidth", "100"], "500Mbps"),
        (["copy", "http://host/", "/there", "--rtt", "60"], "60ms"),
        (["copy", "http://host/", "/there", "--base-power", "2"], "90s"),
        (["copy", "http://host/", "/there", "--power-profile", "35,90"], "15W"),
        (["copy", "http://host/", "/there", "--sla", "throughput_at_least=500"], "=500Mbps or throughput_at_least=90%"),
        (["recommend", "a", "b", "--bytes", "1GB", "--bandwidth", "100M"], "500Mbps"),
        (["recommend", "a", "b", "--bytes", "1GB", "--sla", "deadline=2"], "deadline=2h"),
        (["recommend", "a", "b", "--bytes", "1GB", "--sla", "energy_at_most=4"], "energy_at_most=4kJ"),
        (["recommend", "a", "b", "--bytes", "1GB", "--sla", "power_at_most=12"], "power_at_most=15W"),
        (["logs", "upload", "-", "--bandwidth", "100"], "500Mbps"),
        (["logs", "watch", ".", "--interval", "5"], "90s"),
        (["meter", "--duration", "10"], "90s"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_a_number_without_its_unit_is_refused_with_an_example(arguments, example, capsys):
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert example in told.err
    assert "write it like" in told.err


def test_a_size_may_be_a_bare_number_of_bytes(capsys):
    assert run(["recommend", "a", "b", "--bytes", "1000000", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["source"] == "heuristic"


def test_a_defect_is_one_line_that_says_how_to_see_more(monkeypatch, capsys):
    monkeypatch.setattr("tradewind_agent.cli.app.build", lambda _: 1 / 0)
    assert run([]) == 1
    told = capsys.readouterr()
    assert "set TRADEWIND_TRACE=1" in told.err
    assert told.err.count("\n") == 1


def test_the_program_alone_prints_its_help(capsys):
    assert run([]) == 0
    assert "Usage" in capsys.readouterr().out


def test_the_version_is_printed(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tradewind ")
