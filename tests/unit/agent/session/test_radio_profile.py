from types import SimpleNamespace

import pytest

from tradewind.errors import NotFound
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind.wire.devices import WireDeviceProfile
from tradewind_agent.errors import ServiceUnreachable
from tradewind_agent.session.radio_profile import find_radio_profile

PHONE = load_shipped_catalogue().find_device("galaxy-s5")


def service(answer):
    """One that answers with the device, or fails."""

    def device(name):
        if isinstance(answer, Exception):
            raise answer
        return answer

    return SimpleNamespace(mobile=SimpleNamespace(device=device))


def test_ones_own_device_is_requested_from_the_service_and_the_packages_where_it_is_unreachable():
    own = WireDeviceProfile.from_domain(PHONE, own=True, uploaded_at=None)
    assert find_radio_profile("lte", "router-1", service(own)) == PHONE.find_radio("lte")
    assert find_radio_profile("lte", "galaxy-s5", service(ServiceUnreachable("away"))) == PHONE.find_radio("lte")
    assert find_radio_profile("wifi", "galaxy-s5", None) == PHONE.find_radio("wifi")
    assert find_radio_profile("5g", None, None) == load_shipped_catalogue().find_radio("5g")


def test_a_radio_that_the_device_has_not_is_reported():
    own = WireDeviceProfile.from_domain(PHONE, own=True, uploaded_at=None)
    with pytest.raises(NotFound, match="router-1 has no radio 'smoke'"):
        find_radio_profile("smoke", "router-1", service(own))
    with pytest.raises(NotFound, match=r"no device 'router-1'.*only the service knows your own devices, and away"):
        find_radio_profile("lte", "router-1", service(ServiceUnreachable("away")))
