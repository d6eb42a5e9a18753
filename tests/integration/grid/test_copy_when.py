"""Copies that start when electricity is cheap or clean, by the service's predictions, and what their energy emitted."""

import os
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.api.cases import SOURCE
from services.application.access.authenticate import Scope
from tests.conditions import eventually, stretched
from tests.integration.agent.support.command import environment, run, start
from tests.integration.live_transfers import DESTINATION, learned
from tests.integration.serve_files.serving import serving
from tests.stack import Tenant

__all__ = ["learned"]

BETWEEN = ("--source", SOURCE, "--destination", DESTINATION)


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[str]:
    source = tmp_path / "source"
    source.mkdir()
    for number in range(3):
        (source / f"f{number}").write_bytes(os.urandom(200_000))
    with serving(source) as server:
        yield f"http://127.0.0.1:{server.port}/"


@pytest.fixture
def known_dataset(tmp_path: Path) -> Iterator[str]:
    """A folder like those that the link's history is of."""
    source = tmp_path / "known"
    source.mkdir()
    for number in range(1500):
        with (source / f"f{number}").open("wb") as file:
            file.truncate(100_000)
    with serving(source) as server:
        yield f"http://127.0.0.1:{server.port}/"


@pytest.fixture
def user(api: str, learned: Tenant, tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return environment(home, TRADEWIND_URL=api, TRADEWIND_KEY=learned.secret)


def upload_csv(user: dict[str, str], tmp_path: Path, *values: float | None, begin: datetime | None = None) -> None:
    """Upload carbon intensities from this hour on, and the same numbers as prices a MWh."""
    start = (begin or datetime.now(UTC)).replace(minute=0, second=0, microsecond=0)
    lines = ["starts_at,price_per_mwh,carbon_g_per_kwh"]
    for i, value in enumerate(values):
        if value is not None:
            lines.append(f"{(start + timedelta(hours=i)).isoformat()},{value},{abs(value)}")
    file = tmp_path / "hours.csv"
    file.write_text("\n".join(lines))
    done = run("regions", "upload", "DE", str(file), "--currency", "EUR", "--json", env=user)
    assert done.code == 0, done.err


def set_region(api: str, tenant: Tenant, name: str, region: str) -> None:
    with tenant.client(api, Scope.PROVIDER) as client:
        found = next(each for each in client.get("/v1/endpoints").json() if each["name"] == name)
        client.patch(f"/v1/endpoints/{found['id']}", json={"region": region}).raise_for_status()


def test_dry_run_shows_the_greenest_start_and_moves_nothing(
    api: str, learned: Tenant, user: dict[str, str], known_dataset: str, tmp_path: Path
) -> None:
    upload_csv(user, tmp_path, 400, 400, 400, 50, 50, 400, 400, 400, 400, 400)
    set_region(api, learned, SOURCE, "DE")
    command = (
        "copy",
        known_dataset,
        str(tmp_path / "copy"),
        *BETWEEN,
        "--when",
        "greenest",
        "--deadline",
        "8h",
        "--dry-run",
    )
    done = run(*command, "--json", env=user)
    assert done.code == 0, done.err
    planned = done.document["start"]
    now = datetime.now(UTC)
    assert timedelta(hours=1.5) < datetime.fromisoformat(planned["at"]) - now < timedelta(hours=5)
    assert planned["deadline_probability"] >= 0.9
    assert planned["feasible"] is True
    assert planned["is_assumed"] is False
    assert [end["region"] for end in planned["ends"]] == ["DE", None]
    line = run(*command, env=user).out
    assert "less carbon than a start now" in line
    assert f"the region of {DESTINATION} is unknown" in line
    assert not (tmp_path / "copy").exists()


def test_copy_that_is_cheapest_now_runs_at_once_and_reports_cost_and_network_apart(
    api: str, learned: Tenant, user: dict[str, str], origin: str, tmp_path: Path
) -> None:
    upload_csv(user, tmp_path, -20, -20, 400, 400, 400, 400)
    set_region(api, learned, SOURCE, "DE")
    set_region(api, learned, DESTINATION, "DE")
    done = run(
        *("copy", origin, str(tmp_path / "copy"), *BETWEEN, "--when", "cheapest", "--deadline", "90min", "--json"),
        *("--power-profile", "35W,90W", "--base-power", "100ms"),
        env=user,
    )
    assert done.code == 0, done.err
    grid = done.document["grid"]
    assert grid["start"]["when"] == "cheapest"
    ends = {end["host"]: end for end in grid["ends"]}
    assert ends["destination"]["energy_j"] > 0
    assert ends["destination"]["cost"] < 0, "the price is negative"
    assert ends["destination"]["carbon_g"] > 0
    assert ends["destination"]["currency"] == "EUR"
    assert len(list((tmp_path / "copy").iterdir())) == 3


def test_copy_now_says_which_region_is_unknown(
    api: str, learned: Tenant, user: dict[str, str], origin: str, tmp_path: Path
) -> None:
    set_region(api, learned, SOURCE, "")
    set_region(api, learned, DESTINATION, "")
    done = run("copy", origin, str(tmp_path / "copy"), *BETWEEN, "--when", "now", env=user)
    assert done.code == 0, done.err
    assert "electricity of the total energy: source unknown, its region is unknown" in done.out
    assert "network path" in done.out


def test_copy_without_when_reports_cost_where_a_region_is_known(
    api: str, learned: Tenant, user: dict[str, str], origin: str, tmp_path: Path
) -> None:
    upload_csv(user, tmp_path, 300, 300)
    metered = ("--power-profile", "35W,90W", "--base-power", "100ms", "--json")
    set_region(api, learned, SOURCE, "")
    set_region(api, learned, DESTINATION, "DE")
    done = run("copy", origin, str(tmp_path / "copy"), *BETWEEN, *metered, env=user)
    assert done.code == 0, done.err
    source, destination = done.document["grid"]["ends"]
    assert source["unknown"] == "its region is unknown"
    assert destination["carbon_g"] == pytest.approx(destination["energy_j"] / 3.6e6 * 300, rel=1e-4)
    assert done.document["grid"]["start"] is None
    set_region(api, learned, DESTINATION, "")
    plain = run("copy", origin, str(tmp_path / "again"), *BETWEEN, *metered, env=user)
    assert "grid" not in plain.document


def test_interrupt_while_waiting_moves_nothing(
    api: str, learned: Tenant, user: dict[str, str], origin: str, tmp_path: Path
) -> None:
    upload_csv(user, tmp_path, 400, 400, 400, 50, 50, 400, 400, 400, 400, 400)
    set_region(api, learned, SOURCE, "DE")
    waiting = start(
        *("copy", origin, str(tmp_path / "copy"), *BETWEEN, "--when", "greenest", "--deadline", "8h"), env=user
    )
    assert waiting.stderr is not None
    os.set_blocking(waiting.stderr.fileno(), False)
    noted = b""

    def is_noted() -> bool:
        nonlocal noted
        noted += waiting.stderr.read() or b""  # type: ignore[union-attr]
        return b"starts 20" in noted

    eventually(is_noted, patience_s=stretched(30))
    time.sleep(0.2)  # it pauses now
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait(stretched(10)) == 130
    waiting.communicate()
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("--when", "greenest"), 2, "needs a --deadline"),
        (("--when", "soon"), 2, "now, cheapest, greenest"),
        (("--deadline", "2h"), 2, "goes with --when"),
        (("--when", "greenest", "--deadline", "yesterday"), 2, "is no time"),
        (("--when", "greenest", "--deadline", "30d"), 2, "within 7 days"),
        (("--when", "greenest", "--deadline", "2h", "--mover", "curl"), 2, "single copies by tradewind"),
    ],
)
def test_wrong_use_is_one_line(
    user: dict[str, str], origin: str, tmp_path: Path, arguments: tuple[str, ...], code: int, reason: str
) -> None:
    done = run("copy", origin, str(tmp_path / "copy"), *BETWEEN, *arguments, env=user)
    assert done.code == code
    assert reason in done.error


def test_start_is_not_planned_without_service_or_region(
    api: str, learned: Tenant, user: dict[str, str], origin: str, tmp_path: Path
) -> None:
    nobody = environment(tmp_path / "nobody")
    later = ("--when", "greenest", "--deadline", "2h")
    alone = run("copy", origin, str(tmp_path / "copy"), *later, env=nobody)
    assert alone.code == 1
    assert "needs a service" in alone.error
    set_region(api, learned, SOURCE, "")
    set_region(api, learned, DESTINATION, "")
    nowhere = run("copy", origin, str(tmp_path / "copy"), *BETWEEN, *later, env=user)
    assert nowhere.code == 2
    assert "no end's region has a carbon" in nowhere.error


def test_upload_of_a_day_whose_clocks_change_says_what_is_missing(user: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "autumn.csv"
    hours = [0, 1, 2, 2, 3, 5]
    file.write_text("\n".join(["starts_at,price_per_kwh", *(f"2026-10-25T{hour:02}:00,0.1" for hour in hours)]))
    zone = ("--time-zone", "Europe/Berlin", "--currency", "EUR")
    done = run("regions", "upload", "BER", str(file), *zone, env=user)
    assert done.code == 0, done.err
    assert "6 hours added, 0 replaced" in done.out
    assert "missing 2026-10-25 03:00–2026-10-25 04:00 UTC" in done.out
    without = run("regions", "upload", "BER", str(file), "--currency", "EUR", env=user)
    assert without.code == 2
    assert "line 2: starts_at has no offset" in without.error
    assert "BER" in run("regions", "list", env=user).out
    assert run("regions", "show", "BER", env=user).code == 0
    assert run("regions", "remove", "BER", env=user).code == 0


def test_two_years_are_uploaded_in_parts_and_again_without_a_change(user: dict[str, str], tmp_path: Path) -> None:
    file, begin = tmp_path / "years.csv", datetime(2024, 1, 1, tzinfo=UTC)
    rows = (f"{(begin + timedelta(hours=i)).isoformat()},{i % 500},{i % 400}" for i in range(2 * 8784))
    file.write_text("\n".join(["starts_at,price_per_mwh,carbon_g_per_kwh", *rows]))
    for added, replaced in ((2 * 8784, 0), (0, 2 * 8784)):
        done = run("regions", "upload", "IT", str(file), "--currency", "EUR", "--json", env=user)
        assert done.code == 0, done.err
        assert (done.document["added"], done.document["replaced"]) == (added, replaced)
        assert done.document["region"]["hours"] == 2 * 8784
        assert done.document["region"]["gap_count"] == 0
