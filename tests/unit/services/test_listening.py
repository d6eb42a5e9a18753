"""Whom the API believes where a request comes from."""

import pytest

from services.listening import parse_proxies


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ""),
        ("10.1.0.0/16, 10.2.0.1,", "10.1.0.0/16,10.2.0.1"),
        ("2001:db8::/32,::1", "2001:db8::/32,::1"),
    ],
)
def test_proxies_stand_by_commas(text: str, found: str) -> None:
    assert parse_proxies(text) == found


@pytest.mark.parametrize("text", ["*", "10.0.0.1,*", "0.0.0.0/0", "::/0", "caddy", "10.1.2.3/16", "10.0.0.0/33"])
def test_proxies_that_trust_nobody_or_everybody_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(\S+ would|must be addresses or networks by commas, but)"):
        parse_proxies(text)
