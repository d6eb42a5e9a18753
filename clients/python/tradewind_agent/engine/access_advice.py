"""What to do about a server that wants other credentials: the options that fit the address and what was sent."""

import re
from collections.abc import Mapping
from http import HTTPStatus

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.options import EngineOptions

_STORE_HEADER = "x-amz-request-id"
"""Header by which object stores name each answer, whatever the address was."""

_SCHEME = re.compile(r"(?:^|,)\s*([A-Za-z][A-Za-z0-9-]*)(?=\s+[^\s=,]|\s*(?:,|$))")
"""A scheme in WWW-Authenticate: a word that no equals sign follows (RFC 9110 §11.6.1)."""

_UNSUPPORTED = frozenset({"digest", "negotiate", "ntlm", "kerberos"})

_SIGNATURES = ("X-Amz-Signature=", "Signature=", "sig=")
"""How the signature begins in addresses that anybody may use for a while, of S3, older S3 and GCS, and Azure."""


def advise_on_access(status: int, headers: Mapping[str, str], url: Url, options: EngineOptions) -> str:
    """Return how the user gets access to ``url``, as the end of a sentence; empty where the answer is about more."""
    if status not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return ""
    if options.hooks.find_source(url.origin) is not None:
        return _advise_on_store(is_signed=options.hooks.has_signer(url.origin))
    if any(signature in url.target for signature in _SIGNATURES):
        return "; the signature in the address may have expired: get a new address"
    scheme = _find_unsupported_scheme(headers) if status == HTTPStatus.UNAUTHORIZED else ""
    if scheme or options.credentials.build_headers(url):
        return _advise_on_refused_credentials(scheme, is_unknown=status == HTTPStatus.UNAUTHORIZED)
    if _STORE_HEADER in headers:
        return (
            "; it is an object store: write s3://BUCKET/KEY (with --endpoint-url if it is not AWS) to send credentials"
        )
    condition = "" if status == HTTPStatus.UNAUTHORIZED else "if it wants credentials, "
    ways = f"--bearer-token FILE, --header 'NAME: VALUE', or a login for {url.origin.host} in ~/.netrc"
    unread = f" ({options.credentials.unread})" if options.credentials.unread else ""
    return f"; {condition}give {ways}{unread}"


def _advise_on_refused_credentials(scheme: str, *, is_unknown: bool) -> str:
    if scheme:
        return f"; it accepts only logins of the kind {scheme}, which this command does not have"
    return f"; it {'does not accept' if is_unknown else 'does not permit that to'} the credentials that were sent"


def _find_unsupported_scheme(headers: Mapping[str, str]) -> str:
    """Return the schemes that the server accepts, if it accepts neither a password nor a token as they are."""
    schemes = [match[1] for match in _SCHEME.finditer(headers.get("www-authenticate", ""))]
    if not schemes or any(scheme.lower() not in _UNSUPPORTED for scheme in schemes):
        return ""
    return " or ".join(dict.fromkeys(schemes))


def _advise_on_store(*, is_signed: bool) -> str:
    if is_signed:
        return "; your credentials may not do that: set others, by AWS_ACCESS_KEY_ID and its secret, or --profile"
    return "; it permits no anonymous access: give credentials or a --profile in place of --anonymous"
