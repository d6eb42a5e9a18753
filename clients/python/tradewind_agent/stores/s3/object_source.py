"""Objects as sources: what a store says of them, and by which names another request refers to them."""

from collections.abc import Mapping
from urllib.parse import unquote

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.store_hooks import StoreHooks
from tradewind_agent.stores.s3.address import S3Address
from tradewind_agent.stores.s3.refusals import explain_refusal, find_error_code, find_error_message
from tradewind_agent.stores.s3.session import StoreSession

_DESCRIBING = (
    "content-type",
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "expires",
)
_OWN_META = "x-amz-meta-"
_CODING, _CHUNKED = "Content-Encoding", "aws-chunked"
"""Some stores keep this coding of an upload with its object; in another request it would announce such a body."""


class ObjectSource:
    """The buckets of a run that are requested at one origin."""

    def __init__(self) -> None:
        self._buckets: list[tuple[Url, str, StoreSession]] = []

    @classmethod
    def add_bucket(cls, hooks: StoreHooks, url: Url, bucket: str, session: StoreSession) -> None:
        """Have answers about a bucket read as those of an object store."""
        source = hooks.find_source(url.origin)
        if not isinstance(source, cls):
            source = cls()
            hooks.add_source(url.origin, source)
        source._buckets.append((url, bucket, session))

    def find_address(self, url: Url, session: StoreSession | None) -> S3Address | None:
        """Return bucket and key of an object that is reached by ``session``."""
        for place, bucket, reached_by in self._buckets:
            if reached_by is session and place.origin == url.origin and url.path.startswith(place.path):
                return S3Address(bucket, unescape_key(url, place))
        return None

    def describe(self, _url: Url, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the metadata of an object, the user's own included."""
        return describe_object(headers)

    def explain(self, url: Url, head: ResponseHead, body: bytes) -> str | None:
        """Return what the error document of the store means."""
        code = find_error_code(url, body)
        return explain_refusal(head.status_line, code, find_error_message(url, body)) if code else None


def unescape_key(url: Url, bucket: Url) -> str:
    """Return the key of an address in a bucket."""
    return unquote(url.path.removeprefix(bucket.path), errors="surrogateescape")


def describe_object(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that describe an object in a request that stores it."""
    own = {name: value for name, value in headers.items() if name.startswith(_OWN_META)}
    described = {name.title(): headers[name] for name in _DESCRIBING if name in headers}
    if _CODING in described:
        codings = (coding.strip() for coding in described.pop(_CODING).split(","))
        if stored := ", ".join(coding for coding in codings if coding and coding.lower() != _CHUNKED):
            described[_CODING] = stored
    return own | described
