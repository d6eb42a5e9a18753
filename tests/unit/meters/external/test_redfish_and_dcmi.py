"""Meters of management controllers: documents as controllers of several makers send them, and a tool that prints."""

import json
from pathlib import Path

import pytest

from tests.unit.meters.external.metered_host import serve_documents
from tests.unit.meters.made_up import later
from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind_agent.meters import MeterUnavailable
from tradewind_agent.meters.external.dcmi import open_dcmi_meter, parse_power_w
from tradewind_agent.meters.external.source import parse_meter_source

CHASSIS = "/redfish/v1/Chassis"
PRINTED = """
    Instantaneous power reading:                   220 Watts
    Minimum during sampling period:                 18 Watts
    Maximum during sampling period:                468 Watts
    Average power reading over sample period:      184 Watts
    IPMI timestamp:                           Sat Nov 28 20:00:00 2026
    Sampling period:                          00000001 Seconds.
    Power reading state is:                   activated
"""


def controller(**resources: object) -> dict[str, str]:
    """A controller with one chassis that has these resources."""
    links = {name: {"@odata.id": f"{CHASSIS}/1/{name}"} for name in resources}
    documents: dict[str, object] = {
        CHASSIS: {"Members": [{"@odata.id": f"{CHASSIS}/1"}]},
        f"{CHASSIS}/1": {"Id": "1", **links},
        **{f"{CHASSIS}/1/{name}": document for name, document in resources.items()},
    }
    return {path: json.dumps(document) for path, document in documents.items()}


def controls(*watts: float | None) -> dict[str, object]:
    return {"PowerControl": [{"Name": f"control {i}", "PowerConsumedWatts": each} for i, each in enumerate(watts)]}


@pytest.mark.parametrize(
    ("resources", "watts"),
    [
        ({"Power": controls(590)}, 590.0),
        ({"Power": controls(312.5, 140)}, 312.5),
        ({"EnvironmentMetrics": {"PowerWatts": {"Reading": 431.0}}, "Power": controls(425)}, 431.0),
        ({"EnvironmentMetrics": {"TemperatureCelsius": {"Reading": 21}}, "Power": controls(None, 80)}, 80.0),
    ],
)
def test_power_is_found_in_both_schemas(resources: dict[str, object], watts: float) -> None:
    with serve_documents(controller(**resources)) as documents:
        meter = parse_meter_source(f"redfish:{documents.url}").open()
        assert (meter.method, meter.quality, meter.base_w) == (EnergyMethod.METER, EnergyQuality.MEASURED, None)
        assert meter.read_energy_j(later(0)) == 0
        assert meter.read_energy_j(later(10)) == pytest.approx(10 * watts)
        assert {method for method, _ in documents.requests} == {"GET"}, "a meter only reads"


def test_last_power_holds_until_it_is_renewed_so_that_energy_never_falls() -> None:
    with serve_documents(controller(Power=controls(400))) as documents:
        meter = parse_meter_source(f"redfish:{documents.url}{CHASSIS}/1/Power").open()
        meter.read_energy_j(later(0))
        documents.bodies[f"{CHASSIS}/1/Power"] = json.dumps(controls(100))
        energies = [meter.read_energy_j(later(at)) for at in (0.5, 1.0, 2.5, 3.0)]
        assert energies == pytest.approx([200, 400, 1000, 1050])


def test_login_comes_from_netrc_and_its_lack_is_reported_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_documents(controller(Power=controls(50))) as documents:
        documents.login = "Basic bWV0ZXI6c2VjcmV0"
        netrc = tmp_path / "netrc"
        netrc.write_text("")
        netrc.chmod(0o600)
        monkeypatch.setenv("NETRC", str(netrc))
        with pytest.raises(MeterUnavailable, match=r"add one for 127\.0\.0\.1 to ~/\.netrc"):
            parse_meter_source(f"redfish:{documents.url}").open()
        netrc.write_text("machine 127.0.0.1 login meter password secret\n")
        assert parse_meter_source(f"redfish:{documents.url}").open().read_energy_j(later(0)) == 0
        source = parse_meter_source(documents.url.replace("http://", "redfish:http://meter:secret@"))
        assert source.open().read_energy_j(later(0)) == 0
        assert "secret" not in str(source)
        assert "secret" not in source.open().description


@pytest.mark.parametrize(
    ("bodies", "reason"),
    [
        ({}, "answers 404"),
        ({CHASSIS: "<html>"}, "no Redfish document"),
        ({CHASSIS: '{"Members": []}'}, "no chassis"),
        (controller(Power={"PowerControl": [{"PowerConsumedWatts": None}]}), "reports no power"),
        (controller(Power=controls(-3)), "no power"),
    ],
)
def test_controller_without_a_power_says_why(bodies: dict[str, str], reason: str) -> None:
    with serve_documents(bodies) as documents, pytest.raises(MeterUnavailable, match=reason):
        parse_meter_source(f"redfish:{documents.url}").open()


def test_controller_that_goes_away_can_be_read_again_later() -> None:
    with serve_documents(controller(Power=controls(50))) as documents:
        meter = parse_meter_source(f"redfish:{documents.url}").open()
        meter.read_energy_j(later(0))
        lost, documents.bodies = documents.bodies, {}
        with pytest.raises(MeterUnavailable, match="answers 404"):
            meter.read_energy_j(later(10))
        documents.bodies = lost
        assert meter.read_energy_j(later(20)) == pytest.approx(1000)
    with pytest.raises(MeterUnavailable, match="does not answer"):
        meter.read_energy_j(later(30))


def install_tool(tmp_path: Path, output: str, errors: str = "", code: int = 0) -> str:
    """A program in place of ipmitool, as this host has no management controller."""
    tool = tmp_path / "ipmitool"
    tool.write_text(f"#!/bin/sh\ncat <<'X'\n{output}\nX\ncat >&2 <<'X'\n{errors}\nX\nexit {code}\n")
    tool.chmod(0o755)
    return str(tool)


def test_dcmi_reading_of_the_tool_is_the_power(tmp_path: Path) -> None:
    meter = open_dcmi_meter(install_tool(tmp_path, PRINTED))
    meter.read_energy_j(later(0))
    assert meter.read_energy_j(later(5)) == pytest.approx(1100)
    assert meter.description.startswith("IPMI DCMI")
    assert parse_power_w(PRINTED.replace(":  ", " : ")) == 220


@pytest.mark.parametrize(
    ("output", "errors", "reason"),
    [
        ("", "Could not open device at /dev/ipmi0 or /dev/ipmi/0: No such file or directory", "needs root, or access"),
        (PRINTED.replace("activated", "deactivated"), "", "is deactivated"),
        ("", "DCMI request failed because: Invalid command (c1)", "Invalid command"),
        ("", "", "prints nothing"),
    ],
)
def test_tool_without_a_power_says_why(tmp_path: Path, output: str, errors: str, reason: str) -> None:
    with pytest.raises(MeterUnavailable, match=reason):
        open_dcmi_meter(install_tool(tmp_path, output, errors, 1))


def test_tool_that_is_not_installed_is_named() -> None:
    with pytest.raises(MeterUnavailable, match="is not installed"):
        open_dcmi_meter("no-such-ipmitool")


@pytest.mark.parametrize("watts", [0, 65_535, float("nan")])
def test_value_that_no_host_takes_is_no_power(watts: float) -> None:
    alone = controller(Power=controls(watts))
    with serve_documents(alone) as documents, pytest.raises(MeterUnavailable, match="no power of a host"):
        parse_meter_source(f"redfish:{documents.url}").open()
    both = controller(EnvironmentMetrics={"PowerWatts": {"Reading": watts}}, Power=controls(310))
    with serve_documents(both) as found:
        assert "Power:" in parse_meter_source(f"redfish:{found.url}").open().description


def test_chassis_that_cannot_be_read_hides_no_other() -> None:
    bodies = controller(Power=controls(300))
    bodies[CHASSIS] = json.dumps({"Members": [{"@odata.id": f"{CHASSIS}/locked"}, {"@odata.id": f"{CHASSIS}/1"}]})
    with serve_documents(bodies) as documents:
        assert "Chassis/1/Power" in parse_meter_source(f"redfish:{documents.url}").open().description
        del documents.bodies[f"{CHASSIS}/1"], documents.bodies[f"{CHASSIS}/1/Power"]
        with pytest.raises(MeterUnavailable, match=r"by Redfish: .*Chassis/1 answers 404"):
            parse_meter_source(f"redfish:{documents.url}").open()


@pytest.mark.parametrize("body", ["[" * 100_000, '{"PowerControl": [{"PowerConsumedWatts": 1%s}]}' % ("0" * 400)])
def test_document_that_python_cannot_hold_is_no_power(body: str) -> None:
    bodies = controller(Power=controls(300)) | {f"{CHASSIS}/1/Power": body}
    with serve_documents(bodies) as documents, pytest.raises(MeterUnavailable, match="by Redfish"):
        parse_meter_source(f"redfish:{documents.url}").open()


def test_controller_that_stays_away_is_not_replaced_by_its_last_power() -> None:
    with serve_documents(controller(Power=controls(50))) as documents:
        meter = parse_meter_source(f"redfish:{documents.url}").open()
        meter.read_energy_j(later(0))
        documents.bodies.clear()
        for at_s in (2.0, 2.5, 3.0, 4.0, 4.5):
            with pytest.raises(MeterUnavailable, match="answers 404"):
                meter.read_energy_j(later(at_s))
        documents.bodies |= controller(Power=controls(60))
        back_j = meter.read_energy_j(later(6))
        assert meter.read_energy_j(later(6.5)) - back_j == pytest.approx(30)
