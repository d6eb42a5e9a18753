"""The fault that an error status is, with what to do about it."""

from tradewind.units import format_measured_seconds
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.http.retry import RetryPolicy, is_retryable_status, parse_retry_after
from tradewind_agent.errors import RefusedByServer

_ADVICE = {
    # Every file server allows GET, so a method that is not allowed is the PUT of an upload.
    405: "; it takes no uploads: start serve-files with --writable",
    501: "; it takes no uploads",
    507: "; there is no room at the server",
    409: "; the folder that it is to be stored in may be missing there",
}


def make_refusal(head: ResponseHead, policy: RetryPolicy) -> RefusedByServer:
    """Return the fault for an error status; it is final where the server asks for a longer wait than ``policy`` has."""
    wait_s = parse_retry_after(head.headers)
    advice = _ADVICE.get(head.status, "")
    if wait_s is not None and not policy.permits(wait_s):
        advice = f"; it asks to be left alone for {format_measured_seconds(wait_s)}: run the same command after that"
    return RefusedByServer(
        f"the server answered {head.status_line}{advice}",
        retryable=is_retryable_status(head.status) and policy.permits(wait_s),
        retry_after_s=wait_s,
        status=head.status,
    )
