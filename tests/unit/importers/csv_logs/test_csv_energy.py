"""Energy rows of a CSV sweep: total and dynamic, frequencies, and sets whose size is in another unit."""

import pytest

from tests.unit.importers.logs import (
    ENERGY_HEADER,
    GRID_HEADER,
    clock,
    energy_row,
    grid_row,
    run,
    unit_of,
)
from tradewind.energy.measured import EnergyMethod, EnergyQuality, Host
from tradewind_agent.importers import ImportContext

NO_CONTEXT = ImportContext()


def test_an_energy_row_keeps_total_and_dynamic_energy_cores_and_frequency():
    context = ImportContext(source="a", destination="b", energy_host=Host.SOURCE, mover="harp", network="lab")
    imported, _, report = run([ENERGY_HEADER, energy_row(start=clock(0), dynamic="-3.5")], context)
    record = imported[0].record
    (reading,) = record.energy
    assert reading.total_j == pytest.approx(100 * record.duration_s, rel=1e-4)
    assert reading.dynamic_j == -3.5
    assert (reading.host, reading.method, reading.quality) == (Host.SOURCE, EnergyMethod.METER, EnergyQuality.ASSUMED)
    assert record.parameters.cores == 8
    assert record.parameters.frequency_hz == 1.8e9
    assert (record.mover.name, record.network, record.dataset.content_type) == ("harp", "lab", "video")
    assert any("how it was measured is not in the file" in assumption for assumption in report.assumptions)


@pytest.mark.parametrize(("frequency", "unit"), [("1.8", "GHz"), ("1800", "MHz"), ("1800000", "kHz")])
def test_the_unit_of_the_frequency_is_found(frequency, unit):
    imported, _, report = run([ENERGY_HEADER, energy_row(start=clock(0), frequency=frequency)])
    assert unit_of(report, "frequency") == unit
    assert imported[0].record.parameters.frequency_hz == pytest.approx(1.8e9)


def test_energy_of_nought_is_refused_and_a_missing_one_is_not_measured():
    rows = [energy_row(start=clock(row)) for row in range(5)]
    rows += [energy_row(start=clock(6), energy="0"), energy_row(start=clock(7), energy="na")]
    imported, refused, _ = run([ENERGY_HEADER, *rows])
    assert [(item.row, item.field, item.reason) for item in refused] == [(7, "energy.total_j", "is zero")]
    assert imported[-1].record.energy == ()


def test_energy_that_no_such_host_draws_is_refused():
    rows = [energy_row(start=clock(row)) for row in range(20)]
    rows[4] = energy_row(start=clock(4), energy="60000")
    _, refused, _ = run([ENERGY_HEADER, *rows])
    assert [(item.row, item.field) for item in refused] == [(6, "energy.total_j")]


def sets_with(written, size_bytes, label):
    usual = [energy_row(start=clock(row)) for row in range(30)]
    usual += [energy_row(start=clock(40 + row), size="3.5", count=200, file_type="2") for row in range(30)]
    return usual + [
        energy_row(start=clock(80 + row), size=written, size_bytes=size_bytes, label=label, file_type="1")
        for row in range(10)
    ]


def test_a_set_in_another_size_unit_is_found_by_the_power_that_the_host_would_draw():
    imported, refused, report = run([ENERGY_HEADER, *sets_with("120500", 120.5e6, "2")])
    assert refused == []
    assert imported[-1].record.dataset.mean_file_bytes == pytest.approx(120.5e6)
    assert any("(type 1, set 2)" in found.column and found.unit == "kB" for found in report.units)


def test_a_set_whose_size_fits_in_no_unit_is_refused_with_the_reason():
    imported, refused, _ = run([ENERGY_HEADER, *sets_with("17.3", 120.5e6, "2")])
    assert len(imported) == 60
    assert {item.field for item in refused} == {"dataset.mean_file_bytes"}
    assert "contradicts throughput and energy" in refused[0].reason


def test_a_set_whose_size_fits_in_no_unit_can_take_the_size_of_sets_that_agree():
    context = ImportContext(source="a", destination="b", repair_sizes=True)
    imported, refused, report = run([ENERGY_HEADER, *sets_with("17.3", 120.5e6, "2")], context)
    assert refused == []
    assert imported[-1].record.dataset.mean_file_bytes == pytest.approx(120.5e6)
    assert any("as other sets of this type have it" in found.evidence for found in report.units)


def test_rows_carry_the_set_they_belong_to():
    rows = [energy_row(start=clock(0)), energy_row(start=clock(1), label="2", file_type="3")]
    imported, _, _ = run([ENERGY_HEADER, *rows])
    assert [item.group for item in imported] == ["video/1", "html/2"]
    assert run([GRID_HEADER, grid_row()], NO_CONTEXT)[0][0].group == ""
