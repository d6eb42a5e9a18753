"""The head of any request: target and headers from options, proxy, credentials and transfer."""

from collections.abc import Mapping

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.http1 import RequestHead
from tradewind_agent.engine.options import EngineOptions


def make_request_head(method: str, url: Url, options: EngineOptions, headers: Mapping[str, str]) -> RequestHead:
    """Return a request for ``url``; plain http through a proxy uses an absolute URI (RFC 9112 §3.2.2)."""
    proxy = options.proxies.find_proxy(url.origin) if not url.origin.is_secure else None
    if proxy is not None and proxy.is_socks:
        proxy = None
    all_headers = {
        "Host": url.origin.authority,
        "User-Agent": options.user_agent,
        **options.credentials.build_headers(url),
        **options.cookies.build_headers(url),
        **(proxy.build_headers() if proxy is not None else {}),
        **(options.tag.build_headers(url) if options.tag is not None else {}),
        **headers,
    }
    all_headers |= options.hooks.sign(method, url, all_headers)
    return RequestHead(method, url.target if proxy is None else str(url), all_headers)
