"""An OpenID provider: the authorisation code flow with PKCE, state and nonce, and its tokens.

joserfc and authlib check signatures and claims. Only asymmetric signatures are accepted: with another kind, everybody
with the client's secret could write tokens.
"""

import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from services.application.access.single_sign_on import Identity, Provider
from tradewind.errors import Unauthenticated, Unavailable

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
TIMEOUT_S = 10.0
METADATA_CACHED_S = 3_600.0
LEEWAY_S = 60
"""Tolerance between the provider's clock and ours."""

REFUSED = "the provider's answer was refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedSignIn:
    """A started sign-in: where the browser is sent, and what must come back or be presented again."""

    address: str
    state: str
    nonce: str
    verifier: str


class OpenIdProvider:
    """One provider; safe to share between threads.

    Parameters
    ----------
    monotonic_s, now_s : a clock for what is cached, and the time of day.
    """

    def __init__(
        self, provider: Provider, http: httpx.Client, *, monotonic_s: Callable[[], float], now_s: Callable[[], float]
    ) -> None:
        self.provider = provider
        self._http = http
        self._monotonic_s, self._now_s = monotonic_s, now_s
        self._lock = threading.Lock()
        self._metadata: tuple[float, Mapping[str, Any]] | None = None
        self._keys: KeySet | None = None

    def close(self) -> None:
        """Close the connections to the provider."""
        self._http.close()

    def begin(self, callback: str) -> StartedSignIn:
        """Start a sign-in that comes back to ``callback``.

        Raises
        ------
        Unavailable : the provider does not answer, or not as one.
        """
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        query = {
            "response_type": "code",
            "client_id": self.provider.client_id,
            "redirect_uri": callback,
            "scope": self.provider.scope,
            "state": state,
            "nonce": nonce,
            "code_challenge": create_s256_code_challenge(verifier),
            "code_challenge_method": "S256",
        }
        endpoint = self._find_endpoint("authorization_endpoint")
        address = f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"
        return StartedSignIn(address=address, state=state, nonce=nonce, verifier=verifier)

    def finish(self, code: str, *, callback: str, nonce: str, verifier: str) -> Identity:
        """Return the identity for the code that came back.

        Raises
        ------
        Unauthenticated : the code or a token is not valid.
        Unavailable : the provider does not answer, or not as one.
        """
        tokens = self._fetch_tokens(code, callback, verifier)
        id_token, access_token = tokens.get("id_token"), tokens.get("access_token")
        if not isinstance(id_token, str):
            raise Unauthenticated(f"{REFUSED}: it has no ID token")
        claims = self._verify(id_token, nonce, access_token)
        merged = dict(claims)
        if isinstance(access_token, str) and self._discover().get("userinfo_endpoint"):
            merged = {**self._fetch_userinfo(access_token, claims["sub"]), **merged}
        return Identity(issuer=claims["iss"], subject=claims["sub"], claims=merged)

    def _fetch_tokens(self, code: str, callback: str, verifier: str) -> Mapping[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": callback,
            "code_verifier": verifier,
        }
        supported = self._discover().get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        client, secret = self.provider.client_id, self.provider.client_secret
        auth = None
        if secret is not None and "client_secret_basic" in supported:
            auth = httpx.BasicAuth(_encode_form(client), _encode_form(secret))
        else:
            form |= {"client_id": client} | ({} if secret is None else {"client_secret": secret})
        answer = self._send("POST", self._find_endpoint("token_endpoint"), data=form, auth=auth)
        if answer.status_code != httpx.codes.OK:
            raise Unauthenticated(f"{REFUSED}: it takes the sign-in back; sign in again")
        return _read_document(answer)

    def _verify(self, id_token: str, nonce: str, access_token: Any) -> Mapping[str, Any]:
        """Return the claims of a token that the provider signed for this client and this sign-in, and that is valid
        now.
        """
        try:
            try:
                token = jwt.decode(id_token, self._fetch_key_set(), algorithms=list(ALGORITHMS))
            except (JoseError, ValueError):
                token = jwt.decode(id_token, self._fetch_key_set(refresh=True), algorithms=list(ALGORITHMS))
            claims = CodeIDToken(
                token.claims,
                token.header,
                {
                    "iss": {"essential": True, "value": self.provider.issuer},
                    "aud": {"essential": True, "value": self.provider.client_id},
                    "sub": {"essential": True},
                },
                {"nonce": nonce, "client_id": self.provider.client_id, "access_token": access_token},
            )
            claims.validate(now=int(self._now_s()), leeway=LEEWAY_S)
        except (JoseError, ValueError) as wrong:
            raise Unauthenticated(f"{REFUSED}: its ID token is not valid ({_find_reason(wrong)})") from wrong
        if not isinstance(token.claims.get("sub"), str):
            raise Unauthenticated(f"{REFUSED}: its ID token names nobody")
        return token.claims

    def _fetch_userinfo(self, access_token: str, subject: str) -> Mapping[str, Any]:
        headers = {"Authorization": f"Bearer {access_token}"}
        answer = self._send("GET", self._find_endpoint("userinfo_endpoint"), headers=headers)
        if answer.status_code != httpx.codes.OK:
            raise Unavailable("the OpenID provider does not tell who you are; try again")
        merged = _read_document(answer)
        if merged.get("sub") != subject:
            raise Unauthenticated(f"{REFUSED}: it is about another user")
        return merged

    def _discover(self) -> Mapping[str, Any]:
        """Return what the provider publishes of itself, cached for an hour."""
        with self._lock:
            cached = self._metadata
            if cached is not None and self._monotonic_s() - cached[0] < METADATA_CACHED_S:
                return cached[1]
        answer = self._send("GET", f"{self.provider.issuer.rstrip('/')}/.well-known/openid-configuration")
        found = _read_document(answer) if answer.status_code == httpx.codes.OK else {}
        if found.get("issuer") != self.provider.issuer:
            raise Unavailable(
                f"{self.provider.issuer} does not answer as an OpenID provider of that name; see TRADEWIND_OIDC_ISSUER"
            )
        with self._lock:
            self._metadata = (self._monotonic_s(), found)
        return found

    def _find_endpoint(self, name: str) -> str:
        endpoint = self._discover().get(name)
        if not isinstance(endpoint, str):
            raise Unavailable(f"the OpenID provider publishes no {name}")
        return endpoint

    def _fetch_key_set(self, *, refresh: bool = False) -> KeySet:
        """Return the provider's keys, requested again where a token is signed with an unknown one."""
        with self._lock:
            if self._keys is not None and not refresh:
                return self._keys
        answer = self._send("GET", self._find_endpoint("jwks_uri"))
        try:
            keys = KeySet.import_key_set(_read_document(answer))  # type: ignore[arg-type]
        except (JoseError, ValueError, KeyError) as wrong:
            raise Unavailable("the OpenID provider publishes no keys that can be read") from wrong
        with self._lock:
            self._keys = keys
        return keys

    def _send(self, method: str, address: str, **options: Any) -> httpx.Response:
        try:
            return self._http.request(method, address, **options)
        except (httpx.HTTPError, httpx.InvalidURL) as away:
            raise Unavailable("the OpenID provider does not answer now; try again, or use a password") from away


def _read_document(answer: httpx.Response) -> Mapping[str, Any]:
    try:
        document = answer.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise Unavailable("the OpenID provider answered something else than it should; try again")
    return document


def _encode_form(text: str) -> str:
    """Return text as RFC 6749, section 2.3.1, encodes the name and secret of a client in a header."""
    return urlencode({"": text})[1:]


def _find_reason(wrong: Exception) -> str:
    return getattr(wrong, "error", None) or type(wrong).__name__
