"""Requests with a token of their own, so that a double click or a resend after a lost answer runs them once."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple


class Submission(NamedTuple):
    """A stored request: the hash of its content, its time of arrival, and its answer once there is one."""

    content_sha256: bytes
    at: datetime
    answer: str | None


@dataclass(frozen=True, slots=True)
class SubmissionKey:
    """The key of one request. ``digest`` : of sender, route and token. ``seal`` : 32 bytes that encrypt its answer."""

    digest: bytes
    content_sha256: bytes
    seal: bytes
