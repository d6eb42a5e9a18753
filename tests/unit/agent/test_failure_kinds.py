"""A failure has a kind by the agent's own words for it, and a sentence without secrets."""

import errno

import pytest

from tradewind.failure import LONGEST_SENTENCE, FailureKind, format_sentence
from tradewind.wire.records import WireFailure
from tradewind_agent.failure_kinds import describe_failure, find_failure_kind
from tradewind_agent.system_errors import explain_os_error


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EACCES, FailureKind.PERMISSION),
        (errno.EROFS, FailureKind.PERMISSION),
        (errno.ENOSPC, FailureKind.NO_SPACE),
        (errno.EDQUOT, FailureKind.NO_SPACE),
        (errno.ENOENT, FailureKind.NOT_FOUND),
        (errno.ECONNREFUSED, FailureKind.NETWORK),
        (errno.ECONNRESET, FailureKind.NETWORK),
        (errno.EHOSTUNREACH, FailureKind.NETWORK),
        (errno.ETIMEDOUT, FailureKind.TIMEOUT),
        (errno.EMFILE, FailureKind.OTHER),
    ],
)
def test_error_of_the_system_has_its_kind(number: int, kind: FailureKind) -> None:
    assert find_failure_kind(f"cannot write /data/404/a: {explain_os_error(OSError(number, 'x'))}") is kind


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("the server answered 403 Forbidden", FailureKind.PERMISSION),
        ("the server answered 404 Not Found (tried 3 times)", FailureKind.NOT_FOUND),
        ("the server answered 507 Insufficient Storage", FailureKind.NO_SPACE),
        ("the server answered 504 Gateway Timeout", FailureKind.TIMEOUT),
        ("the server answered 500 Internal Server Error", FailureKind.SERVER_REFUSED),
        ("the server has other bytes than were sent, though it answered 200 OK", FailureKind.CHECKSUM),
        ("its SHA-256 is not that of the manifest", FailureKind.CHECKSUM),
        ("the proxy closed the tunnel", FailureKind.NETWORK),
        ("something nobody foresaw", FailureKind.OTHER),
    ],
)
def test_answer_of_a_server_has_its_kind(reason: str, kind: FailureKind) -> None:
    assert find_failure_kind(reason) is kind


@pytest.mark.parametrize(
    "secret",
    [
        "https://ann:hush@store.example/a",
        "https://ann:hu@hush/x@store.example/a",
        "sftp ann:hush@store.example",
        "https://store.example/a?X-Amz-Signature=hush",
        "/a/b.bin?sig=hush&se=2026",
        "Authorization: Bearer hush-hush-hush",
        "token=hush",
        "//ann:hush@store.example/a",
        "Authorization: Negotiate hush",
        "Proxy-Authorization: hush",
        'Authorization: Digest username="hush", response="hush"',
        "-H 'Cookie: sid=hush; other=hush'",
        'password="two hush words"',
        "{'secret': 'a,hush;hush'}",
        "pwd=hush",
        "passphrase: hush",
        "--password hush",
        "--access-token 'two hush'",
        "authz=Bearer%20hush-hush",
        "client_secret%3Dhush",
        "eyJhbGciOiJub25lIn0.hush.hush",
        "-----BEGIN PRIVATE KEY----- hush",
    ],
)
def test_sentence_has_no_secrets_whoever_writes_it(secret: str) -> None:
    sentence = f"1 of 2 files failed, first {secret}: the server answered 403 Forbidden"
    for written in (describe_failure(sentence).reason, WireFailure(kind="permission", reason=sentence).reason):
        assert "hush" not in written
        assert written.startswith("1 of 2 files failed")
    assert format_sentence("2 of 3 files failed, first http://a/b.bin: it does not exist") == (
        "2 of 3 files failed, first http://a/b.bin: it does not exist"
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "a@b.bin: permission denied",
        "ann@store.example: its host key is not known",
        "the server asks for authorization",
        "the server answered 401 Unauthorized: no basic one",
        "sftp://store.example//data/a.bin: no space",
    ],
)
def test_sentence_without_secrets_stays_as_it_is(sentence: str) -> None:
    assert format_sentence(sentence) == sentence


def test_sentence_is_one_bounded_line() -> None:
    assert describe_failure("a\n\tb\x1b[0m").reason == "a b [0m"
    assert len(describe_failure("x " * LONGEST_SENTENCE).reason) == LONGEST_SENTENCE
