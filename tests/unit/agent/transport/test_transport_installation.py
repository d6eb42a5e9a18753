"""What `tradewind transport install` says where the host lacks what it needs; nothing of a kernel is touched."""

import pytest

from tradewind_agent.errors import TransportFailed
from tradewind_agent.transport import installation, libbpf, requirements
from tradewind_agent.transport.libbpf import Pins
from tradewind_agent.transport.parameters import Parameters


def test_a_missing_libbpf_is_named_where_another_installation_left_its_pins(tmp_path, monkeypatch):
    for module in (libbpf, requirements):
        monkeypatch.setattr(module, "LIBRARY", "libbpf.so.of.no.host")
    monkeypatch.setattr(installation, "require_kernel", lambda _btf: None)
    monkeypatch.setattr(installation, "LOCK", tmp_path / "lock")
    pins = Pins(tmp_path)
    pins.link.touch()
    pins.parameters.touch()
    with pytest.raises(TransportFailed, match=r"needs these packages .* libbpf1 "):
        installation.install(Parameters(), dry_run=True, pins=pins)
