"""Requests that carry a token of their own, so that a double click, or a resend after a lost answer, does them once."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple


class Submission(NamedTuple):
    """What is known of a request: the hash of its content, when it came, and its answer once it is there."""

    content_sha256: bytes
    at: datetime
    answer: str | None


@dataclass(frozen=True, slots=True)
class SubmissionKey:
    """Names one request. ``digest`` : of who sends it, where to, and its token. ``seal`` : 32 bytes for its answer."""

    digest: bytes
    content_sha256: bytes
    seal: bytes
