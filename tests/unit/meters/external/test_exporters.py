"""Energy as exporters for Prometheus have it: the widest series counts, once, and models are assumed."""

import pytest

from tests.unit.meters.external.metered_host import serve_documents
from tests.unit.meters.made_up import later
from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind.errors import InvalidValue
from tradewind_agent.meters import MeterUnavailable
from tradewind_agent.meters.external.exposition import parse_samples
from tradewind_agent.meters.external.source import parse_meter_source
from tradewind_agent.meters.meter import find_resolution_s

SCAPHANDRE = """\
# HELP scaph_host_power_microwatts Power measurement on the whole host, in microwatts
# TYPE scaph_host_power_microwatts gauge
scaph_host_power_microwatts 23500000
scaph_host_energy_microjoules {energy}
scaph_process_power_consumption_microwatts{{exe="a \\"b\\" {{c}}",pid="1"}} 99
"""
KEPLER = """\
kepler_node_cpu_watts{node_name="n",path="/sys/class/powercap/intel-rapl:0",zone="package"} 40
kepler_node_cpu_joules_total{node_name="n",path="/sys/class/powercap/intel-rapl:0",zone="package"} 1000
kepler_node_cpu_joules_total{node_name="n",path="/sys/class/powercap/intel-rapl:1",zone="package"} 900
kepler_node_cpu_joules_total{node_name="n",path="/sys/class/powercap/intel-rapl:0:0",zone="core"} 700
kepler_node_cpu_joules_total{node_name="n",path="/sys/class/powercap/intel-rapl:0:1",zone="dram"} 100
"""
PSYS = 'kepler_node_cpu_joules_total{node_name="n",path="/sys/class/powercap/intel-rapl:2",zone="psys"} 5000\n'
EARLIER_KEPLER = """\
kepler_node_platform_joules_total{instance="n",mode="dynamic",source="acpi"} 0
kepler_node_platform_joules_total{instance="n",mode="idle",source="acpi"} 0
kepler_node_package_joules_total{instance="n",mode="dynamic",package="0",source="rapl"} 30
kepler_node_package_joules_total{instance="n",mode="idle",package="0",source="rapl"} 70
kepler_node_dram_joules_total{instance="n",mode="idle",package="0",source="rapl"} 5
"""
PLATFORM = """\
kepler_platform_watts{bmc_id="b",chassis_id="1",power_control_name="Server Power Control",source="redfish"} 450.5
kepler_platform_watts{bmc_id="b",chassis_id="1",power_control_name="CPU Sub-system Power",source="redfish"} 180
"""


def test_scaphandre_counter_is_read_from_its_usual_path() -> None:
    with serve_documents({"/metrics": SCAPHANDRE.format(energy=5_000_000)}) as documents:
        meter = parse_meter_source(f"scaphandre:{documents.url}").open()
        before = meter.read_energy_j(later(0))
        documents.bodies["/metrics"] = SCAPHANDRE.format(energy=55_000_000)
        assert meter.read_energy_j(later(2.5)) - before == pytest.approx(50)
        assert (meter.method, meter.quality) == (EnergyMethod.METER, EnergyQuality.MEASURED)
        assert "scaph_host_energy_microjoules" in meter.description


def test_scaphandre_without_a_counter_is_read_as_a_gauge() -> None:
    text = "\n".join(line for line in SCAPHANDRE.splitlines() if "energy" not in line)
    with serve_documents({"/metrics": text}) as documents:
        meter = parse_meter_source(f"scaphandre:{documents.url}").open()
        meter.read_energy_j(later(0))
        assert meter.read_energy_j(later(2)) == pytest.approx(47)


@pytest.mark.parametrize("left_out", ["energy", "host_power"])
def test_scaphandre_is_not_read_within_two_seconds(left_out: str) -> None:
    """It renews its values only at a request that comes more than 2 s after the one before."""
    text = "\n".join(line for line in SCAPHANDRE.format(energy=5_000_000).splitlines() if left_out not in line)
    with serve_documents({"/metrics": text}) as documents:
        meter = parse_meter_source(f"scaphandre:{documents.url}").open()
        opened = len(documents.requests)
        for half_seconds in range(21):
            meter.read_energy_j(later(half_seconds / 2))
        assert len(documents.requests) - opened == 5


def test_scaphandre_that_is_away_is_no_energy_and_is_read_again_at_once() -> None:
    with serve_documents({"/metrics": SCAPHANDRE.format(energy=5_000_000)}) as documents:
        meter = parse_meter_source(f"scaphandre:{documents.url}").open()
        meter.read_energy_j(later(0))
        documents.bodies.clear()
        for at_s in (2.5, 3.0):
            with pytest.raises(MeterUnavailable, match="answers 404"):
                meter.read_energy_j(later(at_s))
        documents.bodies["/metrics"] = SCAPHANDRE.format(energy=55_000_000)
        assert meter.read_energy_j(later(3.5)) == pytest.approx(55)


@pytest.mark.parametrize(
    ("text", "joules"),
    [(KEPLER, 2000), (KEPLER + PSYS, 5000), (EARLIER_KEPLER, 105)],
)
def test_kepler_zones_within_others_are_not_added(text: str, joules: float) -> None:
    with serve_documents({"/other/metrics": text}) as documents:
        meter = parse_meter_source(f"kepler:{documents.url}/other/metrics").open()
        assert meter.read_energy_j(later(0)) == pytest.approx(joules)
        assert meter.quality is EnergyQuality.MEASURED
        assert find_resolution_s(meter) == 5


def test_kepler_platform_goes_before_sockets() -> None:
    with serve_documents({"/metrics": KEPLER + PLATFORM}) as documents:
        meter = parse_meter_source(f"kepler:{documents.url}").open()
        meter.read_energy_j(later(0))
        assert meter.read_energy_j(later(2)) == pytest.approx(901)
        assert find_resolution_s(meter) == 150, "five of its values, which Kepler shows for 30 s each"
        assert "the whole host" in meter.description


def test_kepler_in_a_virtual_machine_counts_as_assumed() -> None:
    with serve_documents({"/metrics": EARLIER_KEPLER.replace('"rapl"', '"trained_power_model"')}) as documents:
        assert parse_meter_source(f"kepler:{documents.url}").open().quality is EnergyQuality.ASSUMED


def test_exporter_without_energy_or_that_loses_it_says_so() -> None:
    with serve_documents({"/metrics": "go_goroutines 12\n"}) as documents:
        with pytest.raises(MeterUnavailable, match="has none of kepler_node_platform"):
            parse_meter_source(f"kepler:{documents.url}").open()
        documents.bodies["/metrics"] = KEPLER
        meter = parse_meter_source(f"kepler:{documents.url}").open()
        documents.bodies["/metrics"] = "go_goroutines 12\n"
        with pytest.raises(MeterUnavailable, match="has no kepler_node_cpu_joules_total any more"):
            meter.read_energy_j(later(0))


def test_samples_have_labels_with_escapes_braces_and_times() -> None:
    text = 'a{b="x\\"y\\\\z",c="{,}"} 1.5e3 1700000000000\na 2\naa 3\na{b="n\\nl"} NaN\na nothing\n'
    found = list(parse_samples(text, {"a"}))
    assert found[0] == ("a", {"b": 'x"y\\z', "c": "{,}"}, 1500.0)
    assert found[1] == ("a", {}, 2.0)
    assert found[2].labels == {"b": "n\nl"}
    assert len(found) == 3


@pytest.mark.parametrize(
    "text", ["bmc.example.org", "redfish:", "ipmi:host", "kepler:localhost:9102", "redfish:ftp://x"]
)
def test_source_that_is_none_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidValue, match="power meter"):
        parse_meter_source(text)


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("kepler", KEPLER + KEPLER.replace('"n"', '"m"'), r"has several hosts \(m, n\)"),
        ("kepler", "".join(PLATFORM.replace("{", f'{{node="{name}",') for name in "xy"), r"several hosts \(x, y\)"),
        ("scaphandre", "".join(f'scaph_host_energy_microjoules{{instance="{name}"}} 5\n' for name in "ab"), "several"),
        ("kepler", "".join(KEPLER.replace("{", f'{{pod="kepler-{name}",') for name in "xy"), "several exporters"),
        ("kepler", "".join(KEPLER.replace("{", f'{{job="{name}",') for name in "xy"), r"several exporters \(x, y\)"),
        ("scaphandre", SCAPHANDRE.format(energy=5) * 2, "has a sample twice"),
        ("scaphandre", SCAPHANDRE.replace("23500000", "0").format(energy=0), "has none of"),
    ],
)  # fmt: skip
def test_several_hosts_in_one_export_are_not_added_up(kind: str, text: str, reason: str) -> None:
    with serve_documents({"/metrics": text}) as documents, pytest.raises(MeterUnavailable, match=reason):
        parse_meter_source(f"{kind}:{documents.url}").open()


@pytest.mark.parametrize("changed", [KEPLER + PSYS, KEPLER.replace('path="/sys/class/powercap/intel-rapl:1"', "")])
def test_sum_of_other_samples_than_at_first_is_no_energy(changed: str) -> None:
    with serve_documents({"/metrics": KEPLER}) as documents:
        meter = parse_meter_source(f"kepler:{documents.url}").open()
        before = meter.read_energy_j(later(0))
        documents.bodies["/metrics"] = changed
        with pytest.raises(
            MeterUnavailable, match="has other samples of kepler_node_cpu_joules_total than at first; start again"
        ):
            meter.read_energy_j(later(1))
        documents.bodies["/metrics"] = KEPLER
        assert meter.read_energy_j(later(2)) == before


def test_exporter_that_its_collector_names_otherwise_after_a_restart_is_the_same() -> None:
    labels = '{{instance="10.0.0.{0}:9102",exported_instance="n",node="n",job="kepler",pod="kepler-{0}",'
    first, restarted = (KEPLER.replace("{", labels.format(number)) for number in (1, 2))
    with serve_documents({"/metrics": first}) as documents:
        meter = parse_meter_source(f"kepler:{documents.url}").open()
        assert meter.read_energy_j(later(0)) == pytest.approx(2000)
        documents.bodies["/metrics"] = restarted
        assert meter.read_energy_j(later(1)) == pytest.approx(2000)
