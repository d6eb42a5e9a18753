"""Logins of ~/.netrc are read as curl reads them, and only a file that is named has to be readable."""

from pathlib import Path

import pytest

from tradewind_agent.engine.access_advice import advise_on_access
from tradewind_agent.engine.http.address import Login, Url
from tradewind_agent.engine.http.credentials import Credentials, parse_netrc
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import UnusableSource

READ = {
    "unknown words": ("machine a.example login ann port 21 password secret ssl\n", "secret"),
    "account": ("machine a.example account login login ann password secret\n", "secret"),
    "several lines": ("machine\ta.example\r\n\tlogin ann\r\n\tpassword secret\r\n", "secret"),
    "quote within": ('machine a.example login ann password a"b\n', 'a"b'),
    "quotes": ('machine a.example login "ann" password "a \\"b\\\\"\n', 'a "b\\'),
    "backslash": ("machine a.example login ann password a\\b\n", "a\\b"),
    "escapes": ('machine a.example login ann password "a\\tb"\n', "a\tb"),
    "open quote": ('machine a.example login ann password "ab\n', '"ab'),
    "comments": ("# machine a.example login eve password no\nmachine a.example login ann password #x # mine\n", "#x"),
    "macro": ("machine a.example login ann password x macdef init\nlogin eve\npassword no\n\n", "x"),
    "default": ("machine a.example user ann password x\ndefault login eve password no\n", "x"),
    "before any machine": ("login eve password no machine a.example login ann password x", "x"),
    "last of a host": ("machine a.example login eve password no machine A.EXAMPLE login ann password x", "x"),
    "no password": ("machine a.example login ann\n", ""),
}


@pytest.mark.parametrize("case", READ)
def test_netrc_is_read_as_by_curl(case: str) -> None:
    text, password = READ[case]
    assert parse_netrc(text) == {"a.example": Login("ann", password)}


@pytest.mark.parametrize(
    "text", ["", "machine", "machine a.example", "machine a.example login", "macdef x\nlogin a", "#"]
)
def test_entries_without_a_login_are_none(text: str) -> None:
    assert parse_netrc(text) == {}


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("password", ["für", "plain"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_netrc_may_have_a_byte_order_mark_and_be_of_an_older_encoding(
    tmp_path: Path, prefix: bytes, password: str, encoding: str
) -> None:
    if prefix and encoding == "latin-1":
        encoding = "utf-8"
    (tmp_path / "netrc").write_bytes(prefix + f"machine a.example login ann password {password}".encode(encoding))
    assert Credentials.from_netrc(tmp_path / "netrc").by_host == {"a.example": Login("ann", password)}


def test_only_a_netrc_that_is_named_has_to_be_readable(tmp_path: Path) -> None:
    (tmp_path / ".netrc").mkdir()  # as unreadable to the superuser as to others
    found = Credentials.from_environment({"HOME": str(tmp_path)})
    assert (found.by_host, found.unread != "") == ({}, True)
    with pytest.raises(UnusableSource, match="cannot read"):
        Credentials.from_environment({"NETRC": str(tmp_path / ".netrc")})


def test_server_that_requests_a_login_is_answered_with_why_there_is_none(tmp_path: Path) -> None:
    (tmp_path / ".netrc").mkdir()
    options = EngineOptions(credentials=Credentials.from_environment({"HOME": str(tmp_path)}))
    advice = advise_on_access(401, {}, Url.parse("http://a.example/x"), options)
    assert f"a login for a.example in ~/.netrc (cannot read {tmp_path / '.netrc'}: " in advice
