"""The store of an address, by its scheme."""

from collections.abc import Callable, Mapping, Sequence

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.stores.http import HTTP_STORE
from tradewind_agent.stores.port import Place
from tradewind_agent.stores.s3.address import SCHEME, S3Address


def is_remote(text: str) -> bool:
    """Return whether a text is the address of a place in a store, and no path of this host."""
    return _get_scheme(text) in _OPENERS


def open_places(texts: Sequence[str], options: EngineOptions) -> list[Place]:
    """Return the places of addresses.

    Raises
    ------
    UnusableSource : an address that cannot be, or a store that cannot be reached by what is configured.
    """
    return [_OPENERS[_get_scheme(text)](text, options) for text in texts]


def check_address(text: str) -> None:
    """Check an address without reaching for its store.

    Raises
    ------
    UnusableSource : it cannot be an address of any store.
    """
    (S3Address if text.strip().lower().startswith(SCHEME) else Url).parse(text)


def _get_scheme(text: str) -> str:
    scheme, colon, _ = text.strip().partition("://")
    return scheme.lower() if colon else ""


def _open_http(text: str, _options: EngineOptions) -> Place:
    return Place(HTTP_STORE, Url.parse(text))


def _open_s3(text: str, options: EngineOptions) -> Place:
    from tradewind_agent.stores.s3.opening import open_bucket  # noqa: PLC0415 -- for those who use it

    return open_bucket(text, options)


_OPENERS: Mapping[str, Callable[[str, EngineOptions], Place]] = {
    "http": _open_http,
    "https": _open_http,
    "s3": _open_s3,
}
