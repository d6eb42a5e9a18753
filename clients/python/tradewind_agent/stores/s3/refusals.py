"""What an object store means when it refuses, in words that say what to do."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import FetchedAnswer
from tradewind_agent.engine.remote.xml_index import parse_xml
from tradewind_agent.errors import UnusableSource

_FORBIDDEN = 403
_LONGEST_MESSAGE = 200

_CHECK_KEY = "check the credentials, or name another --profile"
_MEANINGS: Mapping[str, str] = {
    "NoSuchBucket": "there is no such bucket; check its name, and --endpoint-url",
    "NoSuchKey": "there is no such object",
    "AccessDenied": "these credentials may not do that; ask the bucket's owner, or try --anonymous or --requester-pays",
    "AllAccessDisabled": "the bucket is disabled",
    "InvalidAccessKeyId": f"the store does not know this access key; {_CHECK_KEY}",
    "SignatureDoesNotMatch": f"the secret key is not that of this access key; {_CHECK_KEY}",
    "ExpiredToken": "the credentials have expired; sign in again",
    "InvalidToken": f"the session token is not valid; {_CHECK_KEY}",
    "RequestTimeTooSkewed": "this host's clock differs from the store's by more than it permits; set the clock",
    "AuthorizationHeaderMalformed": "the store expects another region; name it by --region",
    "PermanentRedirect": "the bucket is in another region; name it by --region",
    "IllegalLocationConstraintException": "the bucket is in another region; name it by --region",
    "InvalidObjectState": "it is archived; restore it first, such as by `aws s3api restore-object`",
    "InvalidBucketName": "the store permits no bucket of that name",
    "SlowDown": "the store wants fewer requests; try again later",
    "InvalidStorageClass": "the store has no storage class of that name; check --storage-class",
    "MetadataTooLarge": "the store takes less metadata; shorten --metadata",
}

_OF_ALL_FILES = frozenset(
    {"InvalidStorageClass", "MetadataTooLarge", "NoSuchBucket", "InvalidAccessKeyId", "AllAccessDisabled"}
)
"""Codes of what holds for each file of a copy: its bucket, its credentials, its properties."""

_OF_PROPERTIES = frozenset({"InvalidArgument", "NotImplemented"})
"""Codes by which some stores refuse properties; without properties they are about something else."""


_SUM_HEADERS = "x-amz-checksum"
_UNKNOWN = ("unsupported", "not supported", "not implemented", "unknown", "unrecognized", "not recognized")
_WITHOUT_SUMS = (
    "the store takes no headers of checksums; set AWS_REQUEST_CHECKSUM_CALCULATION=when_required and "
    "AWS_RESPONSE_CHECKSUM_VALIDATION=when_required"
)


class StoreRefused(UnusableSource):
    """The store refused a request.

    Attributes
    ----------
    may_not : these credentials may not do what was asked, though the store knows them.
    region : that the store names for the bucket, if any.
    """

    def __init__(self, reason: str, *, may_not: bool, region: str | None) -> None:
        super().__init__(reason)
        self.may_not = may_not
        self.region = region


def make_store_refusal(place: object, answer: FetchedAnswer) -> StoreRefused:
    """Return the error for an answer that is none of those hoped for."""
    code, status = find_error_code(answer.url, answer.body), answer.head.status
    may_not = status == _FORBIDDEN and code in ("", "AccessDenied")
    message = find_error_message(answer.url, answer.body)
    meaning = explain_refusal(answer.head.status_line, "AccessDenied" if may_not else code, message)
    region = answer.head.headers.get("x-amz-bucket-region") or _find_in_error(answer.url, answer.body, "Region")
    return StoreRefused(f"{place}: {meaning}", may_not=may_not, region=region or None)


def explain_refusal(status_line: str, code: str, message: str = "") -> str:
    """Return what an error code means and what to do; the status, with code and message, where it is not known."""
    if _refuses_sums(message):
        return f"{_WITHOUT_SUMS} ({code}: {message})"
    stated = ": ".join(filter(None, (code, message)))
    named = f"the store answered {status_line}" + (f" ({stated})" if stated else "")
    return _MEANINGS.get(code, named)


def _refuses_sums(message: str) -> bool:
    """Return whether a store says that it knows no headers of checksums, and not that a sum is missing or wrong."""
    stated = message.lower()
    return _SUM_HEADERS in stated and any(word in stated for word in _UNKNOWN)


def find_common_fault(status_line: str, code: str, message: str = "", *, has_properties: bool) -> str:
    """Return why the store would refuse each file of the copy as well; empty where the answer is about one file.

    Parameters
    ----------
    has_properties : the user names a storage class, a type or metadata, which go with each file.
    """
    if code in _OF_ALL_FILES or _refuses_sums(message):
        return explain_refusal(status_line, code, message)
    if has_properties and code in _OF_PROPERTIES:
        return f"{explain_refusal(status_line, code)}; check --storage-class, --content-type and --metadata"
    return ""


def explain_code(code: str) -> str:
    """Return what an error code means; the code, or other text, as it is where that is not known."""
    return _MEANINGS.get(code, code)


def find_error_code(url: Url, body: bytes) -> str:
    """Return the code of an error document; empty where the body is none."""
    return _find_in_error(url, body, "Code")


def find_error_message(url: Url, body: bytes) -> str:
    """Return the message of an error document in one line, cut where it is long; empty where the body is none."""
    message = " ".join(_find_in_error(url, body, "Message").split())
    return message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"


def _find_in_error(url: Url, body: bytes, name: str) -> str:
    if not body:
        return ""
    try:
        root: ET.Element = parse_xml(url, body)
    except UnusableSource:
        return ""
    return (root.findtext(name) or "") if root.tag == "Error" else ""
