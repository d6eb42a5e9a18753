"""`tradewind statements issue`, and what `tradewind usage` prints of adjustments."""

from pathlib import Path

import pytest

from services.application.access.authenticate import Scope
from tests.integration.agent.support.command import environment, run
from tests.integration.pricing.past_transfers import FIRST, SECOND, THIS_MONTH, Billed
from tests.stack import Tenant


@pytest.fixture
def acme(tenant: Tenant, api: str, admin_database_url: str) -> Billed:
    return Billed.new(tenant, api, admin_database_url)


@pytest.fixture
def user(api: str, tenant: Tenant, tmp_path: Path) -> dict[str, str]:
    own: dict[str, str] = environment(tmp_path)
    assert run("login", api, "--key", tenant.key(Scope.PROVIDER), "--unchecked", env=own).code == 0
    return own


def test_dry_run_shows_what_the_command_then_issues(user: dict[str, str], acme: Billed) -> None:
    acme.move(FIRST, "1.005")
    arguments = ("statements", "issue", "--month", str(FIRST))
    planned = run(*arguments, "--dry-run", "--json", env=user)
    assert (planned.code, planned.document["dry_run"]) == (0, True)
    assert [each["outcome"] for each in planned.document["statements"]] == ["to_issue"]
    text = run(*arguments, "--dry-run", env=user)
    assert "would be issued" in text.out
    done = run(*arguments, env=user)
    assert done.code == 0
    (row,) = (line for line in done.out.splitlines() if acme.customer["name"] in line)
    assert row.split()[-4:] == ["issued", "1.01", "EUR", "1"]
    assert f"statements of {FIRST}: 1 issued; 1.01 EUR in all" in done.err
    again = run(*arguments, "--json", env=user)
    assert [(each["outcome"], each["number"]) for each in again.document["statements"]] == [("already_issued", 1)]


def test_usage_prints_the_differences_of_earlier_months(user: dict[str, str], acme: Billed) -> None:
    corrected = acme.move(FIRST, "5")
    run("statements", "issue", "--month", str(FIRST), env=user)
    acme.correct(corrected, amount="3.5")
    table = run("usage", "--month", str(SECOND), env=user)
    (row,) = (line for line in table.out.splitlines() if "adjustments" in line)
    assert row.split()[-4:] == ["-1.5", "EUR", "-1.50", "EUR"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--month", "2026-13"), 2, "2026-13"),
        ((), 2, "--month"),
        (("--month", str(THIS_MONTH)), 1, "is not over"),
        (("--month", "2019-01"), 1, "nothing is billed for 2019-01"),
    ],
    ids=["no_month", "absent", "running", "empty"],
)
def test_command_reports_in_a_line_why_nothing_is_issued(
    user: dict[str, str], arguments: tuple[str, ...], code: int, message: str
) -> None:
    outcome = run("statements", "issue", *arguments, env=user)
    assert outcome.code == code
    assert message in outcome.error
