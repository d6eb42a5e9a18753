"""What the processes' logs hold, and what they must not."""

import io
import json

from services.telemetry import Event, logger


def failing(secret: str) -> None:
    raise ValueError(str(len(secret)))


def test_an_error_is_logged_with_its_trace_but_without_the_values_of_variables() -> None:
    output = io.StringIO()
    log = logger("api", output=output)
    secret = "tw_" + "x" * 10
    try:
        failing(secret)
    except ValueError:
        log.exception(Event.REQUEST_FAILED)
    (error,) = json.loads(output.getvalue())["exception"]
    assert [frame["name"] for frame in error["frames"]][-1] == "failing"
    assert secret not in output.getvalue()
