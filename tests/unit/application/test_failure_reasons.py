"""What is told of a failure: its reason, without secrets."""

import pytest

from services.application.shared.failure_reasons import LONGEST_REASON, format_reason

REFUSED = "cannot reach"


@pytest.mark.parametrize(
    "secret",
    [
        "http://user:hush@store:9000/bucket",
        "http://user:hu@hush/x@store:9000/bucket",
        "https://store/bucket/part?X-Amz-Signature=hush&X-Amz-Date=1",
        'endpoint "http://store/bucket?key=hush"',
        "aws_secret_access_key=hush",
        "{'secret': 'hush', 'region': 'x'}",
        "Password: hush",
        "the key AKIAHUSHHUSHHUSHHUSH is not known",
    ],
)
def test_secret_in_an_address_or_a_setting_is_hidden(secret: str) -> None:
    told = format_reason(f"{REFUSED} {secret}\nnow")
    assert told.startswith(REFUSED)
    assert told.endswith("now")
    assert "hush" not in told.lower()


def test_reason_is_one_bounded_line() -> None:
    reason = "the storage does not answer: [Errno 13] Permission denied: '/exports/transfers/tenant=5/day=2026-01-01'"
    assert format_reason(reason.replace(": [", ":\n\0[")) == reason
    assert len(format_reason("x " * LONGEST_REASON)) == LONGEST_REASON
