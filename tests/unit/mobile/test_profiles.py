import pytest

from tradewind.errors import InvalidValue, NotFound
from tradewind.mobile.catalogue import load_shipped_catalogue, parse_device, parse_radio
from tradewind.mobile.profiles import RADIO_FIELDS, SourcedValue, ValueOrigin
from tradewind.wire.devices import NewDeviceProfile, WireDeviceProfile

PAPERS_PHONES = {"nexus-s", "galaxy-nexus", "galaxy-s4", "galaxy-s5"}
FIGURE = {"value": 1.0, "origin": "assumed", "source": "a guess"}
RADIO = dict.fromkeys(RADIO_FIELDS, FIGURE)
DEVICE = {"producer": "Acme", "model": "One", "idle_w": FIGURE, "cpu_w": FIGURE, "radios": ["wifi"]}


def test_the_papers_four_phones_and_current_ones_are_there_with_a_source_for_every_figure():
    catalogue = load_shipped_catalogue()
    assert set(catalogue.devices) > PAPERS_PHONES
    figures = [getattr(radio, name) for radio in catalogue.radios.values() for name in RADIO_FIELDS]
    for device in catalogue.devices.values():
        figures += [device.idle_w, device.screen_w, *device.component_w.values()]
    assert all(isinstance(each, SourcedValue) and each.source for each in figures)
    assert set(catalogue.radios) == {"wifi", "lte", "5g"}


def test_the_tail_of_lte_is_much_longer_than_that_of_wifi():
    lte, wifi = (load_shipped_catalogue().find_radio(name) for name in ("lte", "wifi"))
    assert lte.tail_s.value > 10 * wifi.tail_s.value
    assert lte.compute_tail_energy_j(float("inf")) == pytest.approx((1.06 - 0.02) * 11.576)
    assert lte.compute_tail_energy_j(3.0) == pytest.approx((1.06 - 0.02) * 3)


def test_unknown_device_or_radio_is_reported_with_the_available_ones():
    with pytest.raises(NotFound, match=r"'galaxy-s99'.*galaxy-s5"):
        load_shipped_catalogue().find_device("galaxy-s99")
    with pytest.raises(NotFound, match="nexus-s has no radio '5g'; it has wifi"):
        load_shipped_catalogue().find_device("nexus-s").find_radio("5g")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"idle_w": {"value": 1.0, "origin": "assumed"}}, "one.idle_w.source"),
        ({"idle_w": {"value": 1.0, "origin": "heard", "source": "x"}}, "one.idle_w.origin"),
        ({"idle_w": {"value": "1", "origin": "assumed", "source": "x"}}, "one.idle_w.value"),
        ({"idle_w": {"value": -1, "origin": "assumed", "source": "x"}}, "one.idle_w"),
        ({"idle_w": {"value": float("nan"), "origin": "assumed", "source": "x"}}, "one.idle_w"),
        ({"idle_w": {"value": 1, "origin": "assumed", "source": "  "}}, "one.idle_w.source"),
        ({"radios": ["wifi9"]}, "one.radios"),
        ({"gpu_w": FIGURE}, "one.gpu_w"),
        ({"model": None}, "one.model"),
    ],
)
def test_a_file_with_a_mistake_names_the_field(change, field):
    with pytest.raises(InvalidValue) as refused:
        parse_device("one", DEVICE | change, load_shipped_catalogue().radios)
    assert refused.value.field == field


def test_a_radio_whose_tail_is_below_idle_is_refused():
    with pytest.raises(InvalidValue, match="must not be below idle_w"):
        parse_radio("odd", RADIO | {"idle_w": FIGURE | {"value": 2.0}})


def test_scaled_constants_scale_energies_and_leave_times():
    device = load_shipped_catalogue().find_device("galaxy-s5")
    half = device.scale(0.5)
    assert half.compute_base_w(half.find_radio("lte"), screen_on=True) == pytest.approx(
        device.compute_base_w(device.find_radio("lte"), screen_on=True) / 2
    )
    assert half.find_radio("lte").tail_s == device.find_radio("lte").tail_s


def test_a_profile_goes_over_the_wire_and_back():
    device = load_shipped_catalogue().find_device("galaxy-s5")
    told = WireDeviceProfile.from_domain(device, own=False, uploaded_at=None).model_dump(mode="json")
    known = NewDeviceProfile.model_fields.keys()
    again = NewDeviceProfile.model_validate({name: value for name, value in told.items() if name in known})
    assert again.to_profile("galaxy-s5", {}) == device
    assert device.idle_w.origin is ValueOrigin.ASSUMED
