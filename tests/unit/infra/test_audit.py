"""An audit of dependencies that was not made is never told as a good one."""

import pytest

from infra import audit

SOUND = {"name": "one", "version": "1.0", "vulns": []}
FLAWED = {"name": "two", "version": "2.0", "vulns": [{"id": "GHSA-xxxx"}]}
UNKNOWN = {"name": "three", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("found", "code", "words"),
    [
        ([SOUND], audit.SOUND, "1 distributions audited, 0 with known flaws"),
        ([SOUND, FLAWED], audit.FLAWED, "two 2.0: GHSA-xxxx"),
        ([SOUND, UNKNOWN], audit.NOT_AUDITED, "NOT AUDITED: nothing is known of three"),
        ([], audit.NOT_AUDITED, "NOT AUDITED"),
    ],
)
def test_the_verdict_is_that_of_the_advisories(
    found: list[dict[str, object]], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit.report_flaws(found) == code
    told = capsys.readouterr()
    assert words in told.out + told.err


def test_without_the_tool_nothing_is_audited(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "find_spec", lambda _: None)
    assert audit.main([]) == audit.NOT_AUDITED
    assert "NOT AUDITED: pip-audit is not installed" in capsys.readouterr().err
