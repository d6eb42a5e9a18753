"""Which server's meter counts another host than the one that this end counts already."""

import socket
from types import SimpleNamespace
from uuid import UUID

import psutil
import pytest

from tradewind.energy.measured import Host
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.session.other_end import OtherEnd


@pytest.mark.parametrize(
    ("host", "counts"),
    [
        ("127.0.0.1", False),
        ("localhost", False),
        ("192.0.2.7", False),
        ("[2001:db8::7]", False),
        ("[::ffff:192.0.2.7]", False),
        ("[::ffff:127.0.0.1]", False),
        ("[fe80::1%25eth0]", False),
        ("[fe80::1%eth0]", False),
        ("0.0.0.0", False),
        ("[::]", False),
        ("this-host", False),
        ("192.0.2.8", True),
        ("[2001:db8::8]", True),
        ("[::ffff:192.0.2.8]", True),
        ("other-host", True),
    ],
)
def test_meter_of_this_very_host_is_counted_once(host: str, counts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = [SimpleNamespace(address=each) for each in ("192.0.2.7", "2001:db8::7", "fe80::1%eth0")]
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {"eth0": addresses})
    monkeypatch.setattr(socket, "gethostname", lambda: "This-Host")
    end = OtherEnd(UUID(int=1), Host.SOURCE, Url.parse(f"http://{host}:8000/set/"), EngineOptions())
    assert end.is_metered_by(b'{"method": "rapl", "quality": "measured"}') is counts
    assert end.is_metered_by(b'{"method": "cpu_model", "quality": "assumed"}'), "of its own processes alone"


def test_host_whose_interfaces_are_hidden_knows_loopback_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise PermissionError

    monkeypatch.setattr(psutil, "net_if_addrs", refuse)
    for host, counts in (("127.0.0.1", False), ("192.0.2.7", True)):
        end = OtherEnd(UUID(int=1), Host.SOURCE, Url.parse(f"http://{host}:8000/set/"), EngineOptions())
        assert end.is_metered_by(b'{"method": "rapl", "quality": "measured"}') is counts
