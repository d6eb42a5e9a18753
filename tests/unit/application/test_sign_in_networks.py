"""The network that a sign-in is counted with."""

import pytest

from services.application.access.sign_in_networks import NOWHERE, find_network


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.77", "192.0.2.0/24"),
        ("::ffff:192.0.2.77", "192.0.2.0/24"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", NOWHERE),
        ("", NOWHERE),
        (None, NOWHERE),
    ],
)
def test_addresses_of_one_network_are_counted_together(address: str | None, network: str) -> None:
    assert find_network(address) == network
