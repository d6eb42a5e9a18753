"""Markers of third-party copies, however the body is cut."""

import pytest

from tradewind_agent.engine.relay.markers import CopyMarkers

BODY = b"""Perf Marker
    Timestamp: 1537788010
    Stripe Index: 0
    Stripe Bytes Transferred: 100
    Total Stripe Count: 2
End
Perf Marker\r
    Timestamp: 1537788010\r
    Stripe Index: 1\r
    Stripe Bytes Transferred: 30\r
    Total Stripe Count: 2\r
End\r
Perf Marker
Timestamp: 1537788015
Stripe Index: 0
Stripe Bytes Transferred: 250
End
"""


@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_bytes_of_all_stripes_count_by_their_last_markers(step: int):
    markers = CopyMarkers()
    for at in range(0, len(BODY), step):
        markers.feed(BODY[at : at + step])
    assert (markers.moved_bytes, markers.succeeded) == (280, None)


@pytest.mark.parametrize(
    ("line", "succeeded", "reason"),
    [
        (b"success: Created\n", True, "Created"),
        (b"success\n", True, ""),
        (b"Success: created", True, "created"),
        (b"failure: 404 at the source", False, "404 at the source"),
        (b"failure: checksum mismatch\n", False, "checksum mismatch"),
        (b"aborted\n", False, ""),
        (b"", None, ""),
        (b"successful lookups: 3\n", None, ""),
    ],
)
def test_the_last_line_says_how_the_copy_ended(line: bytes, succeeded: bool | None, reason: str):
    markers = CopyMarkers()
    markers.feed(BODY + line)
    markers.close()
    assert (markers.succeeded, markers.reason) == (succeeded, reason)
