"""What a user or a program is told when a command fails."""

import json
import socket

import pytest

from tests.integration.agent.support.command import environment, run
from tests.integration.agent.support.faulty_service import faulty_service
from tests.integration.certificates import make_certificates
from tests.integration.engine.servers.web_servers import nginx
from tests.integration.serve_files.serving import serving
from tests.unit.agent.records import lines
from tradewind_agent.serve import TlsFiles


@pytest.fixture
def env(tmp_path):
    return environment(tmp_path / "home")


@pytest.fixture
def closed_port():
    """A port that nobody listens on, and that nobody else gets meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_a_refused_connection_says_what_to_check(env, closed_port, tmp_path):
    copied = run("copy", f"http://127.0.0.1:{closed_port}/", str(tmp_path / "copy"), env=env)
    assert copied.code == 1
    assert copied.error.endswith("the connection was refused; check the port, and that the server runs")
    asked = run("login", f"http://127.0.0.1:{closed_port}", "--key", "k", env=env)
    assert "does not answer: the connection was refused; check the port" in asked.error
    assert "Errno" not in copied.error + asked.error


def test_a_server_that_is_no_service_is_named_as_such(env, tmp_path):
    with serving(tmp_path) as server:
        refused = run("login", server.url, "--key", "k", env=env)
    assert refused.code == 1
    assert refused.error.endswith("answers, but is no Tradewind service: check address and port")


def test_devices_that_come_with_the_agent_are_listed_where_the_service_is_unreachable(env, closed_port):
    away = env | {"TRADEWIND_URL": f"http://127.0.0.1:{closed_port}", "TRADEWIND_KEY": "k"}
    told = run("devices", env=away)
    assert (told.code, "galaxy-s5" in told.out) == (0, True)
    assert told.error.endswith("; these come with the agent")


def test_an_unknown_host_is_reported_as_a_name(env, tmp_path):
    copied = run("copy", "http://no-such-host.invalid/", str(tmp_path / "copy"), env=env)
    asked = run("login", "http://no-such-host.invalid", "--key", "k", env=env)
    for outcome in (copied, asked):
        assert outcome.code == 1
        assert "check the name" in outcome.error
        assert "Errno" not in outcome.error


@pytest.mark.parametrize("options", [(), ("--json",), ("--dry-run",), ("--dry-run", "--json")])
def test_signature_of_an_address_is_not_shown(env, tmp_path, options: tuple[str, ...]):
    (tmp_path / "empty").mkdir()
    with serving(tmp_path / "empty") as server:
        address = f"{server.url}/gone.bin?X-Amz-Signature=hush&X-Amz-Expires=60"
        outcome = run("copy", address, str(tmp_path / "copy"), *options, env=env)
    assert "gone.bin" in outcome.out + outcome.err
    assert "hush" not in outcome.out + outcome.err


def test_an_untrusted_certificate_names_the_option_that_trusts_it(env, tmp_path):
    (tmp_path / "certificates").mkdir()
    made = make_certificates(tmp_path / "certificates")
    with serving(tmp_path, tls=TlsFiles(made.certificate, made.key)) as server:
        copied = run("copy", server.url, str(tmp_path / "copy"), env=env)
        asked = run("login", server.url, "--key", "k", env=env)
    assert (copied.code, asked.code) == (1, 1)
    assert "certificate of 127.0.0.1 is not trusted" in copied.error
    assert "--ca-file" in copied.error
    assert "its certificate is not trusted" in asked.error
    assert "SSL_CERT_FILE" in asked.error
    assert "_ssl.c" not in copied.error + asked.error


def test_https_to_a_server_of_plain_http_fails_at_once_and_names_the_scheme(env, tmp_path):
    with nginx(tmp_path, tmp_path) as server:
        address = server.url.replace("http://", "https://")
        listed = run("copy", address, f"{tmp_path}/copy", env=env)
        fetched = run("copy", f"{address}file", f"{tmp_path}/copy", env=env)
    for outcome in (listed, fetched):
        assert outcome.code == 1
        assert "speaks no TLS; write the address with http:// in place of https://" in outcome.out + outcome.err
        assert "tried" not in outcome.out + outcome.err


def test_an_expired_certificate_of_the_service_is_reported_with_who_can_correct_it(env, tmp_path):
    (tmp_path / "certificates").mkdir()
    made = make_certificates(tmp_path / "certificates", server_days=-1)
    with serving(tmp_path, tls=TlsFiles(made.certificate, made.key)) as server:
        asked = run("login", server.url, "--key", "k", env=env | {"SSL_CERT_FILE": str(made.authority)})
    assert asked.code == 1
    assert (
        "its certificate has expired; inform its operator, or set this machine's clock if that is wrong" in asked.error
    )


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--source", "x" * 300, "source"),
        ("--network", "x" * 300, "network"),
        ("--sla", "throughput_at_least=1e19bps", "target"),
    ],
)
def test_invalid_query_is_refused_before_any_byte_moves(env, tmp_path, option, value, message):
    (tmp_path / "page").write_text("content")
    with serving(tmp_path) as server:
        copied = run("copy", f"{server.url}page", str(tmp_path / "to" / "page"), option, value, env=env)
    assert "internal error" not in copied.error
    assert (copied.code, message in copied.error, (tmp_path / "to" / "page").exists()) == (2, True, False), copied.error


def test_a_file_in_place_of_a_folder_is_reported(env, tmp_path):
    (tmp_path / "spool").write_bytes(b"in the way")
    outcome = run("logs", "watch", str(tmp_path), "--once", env=env | {"XDG_STATE_HOME": str(tmp_path / "spool")})
    assert outcome.code == 1
    assert "Errno" not in outcome.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("copy", "http://no-such-host.invalid/", "/tmp/never", "--json"), 1),
        (("copy", "http://host/", "/there", "--sla", "fastest", "--json"), 2),
        (("recommend", "a", "b", "--json", "--bandwidth", "100"), 2),
        (("logs", "upload", "-", "--json"), 1),
        (("copy", "--no-such-option", "--json"), 2),
    ],
)
def test_a_program_gets_the_failure_as_one_document_and_the_exit_code_stays(arguments, code, env):
    outcome = run(*arguments, env=env, stdin=b"".join(lines(1)))
    assert outcome.code == code
    assert outcome.document["exit_code"] == code
    assert outcome.error == f"tradewind: {outcome.document['error']}"


def test_a_refusal_of_the_service_is_a_document_too(env):
    with faulty_service() as service:
        service.faults.append((401, {}))
        outcome = run("login", service.url, "--key", "wrong", "--json", env=env)
    assert outcome.code == 1
    assert "tradewind login URL --key KEY" in json.loads(outcome.out)["error"]


def test_without_json_a_failure_leaves_standard_output_empty(env):
    outcome = run("copy", "http://host/", "/there", "--sla", "fastest", env=env)
    assert outcome.out == ""
