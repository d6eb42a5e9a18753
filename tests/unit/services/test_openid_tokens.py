"""What is believed of an OpenID provider's tokens, and what is not."""

import json
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey

from services.application.access.single_sign_on import Provider
from services.openid.provider import OpenIdProvider
from tradewind.errors import Unauthenticated, Unavailable

ISSUER = "https://login.example.org"
NOW_S = 1_800_000_000
OURS = ECKey.generate_key("P-256", {"kid": "1"})
FOREIGN = ECKey.generate_key("P-256", {"kid": "1"})
CLAIMS = {"iss": ISSUER, "aud": "us", "sub": "ada", "nonce": "n", "iat": NOW_S - 5, "exp": NOW_S + 300}


def provider(token: str, **metadata: Any) -> OpenIdProvider:
    """One whose token endpoint answers with that token."""
    published = {
        "issuer": ISSUER,
        "authorization_endpoint": f"{ISSUER}/auth",
        "token_endpoint": f"{ISSUER}/token",
        "jwks_uri": f"{ISSUER}/jwks",
    } | metadata
    answers = {
        "/.well-known/openid-configuration": published,
        "/token": {"id_token": token, "token_type": "Bearer", "access_token": "a"},
        "/jwks": KeySet([OURS]).as_dict(private=False),
    }
    transport = httpx.MockTransport(lambda asked: httpx.Response(200, content=json.dumps(answers[asked.url.path])))
    known = Provider(issuer=ISSUER, client_id="us", client_secret="s", scope="openid", name="Sign in")
    return OpenIdProvider(known, httpx.Client(transport=transport), monotonic_s=lambda: 0.0, now_s=lambda: NOW_S)


def signed(claims: dict[str, Any], key: Any = OURS, algorithm: str = "ES256") -> str:
    return jwt.encode({"alg": algorithm, "kid": "1"}, claims, key, algorithms=[algorithm])


def finish(token: str) -> Any:
    return provider(token).finish("code", callback="https://here/back", nonce="n", verifier="v")


def test_a_token_that_the_provider_signed_for_us_is_believed() -> None:
    identity = finish(signed(CLAIMS | {"email": "ada@example.org"}))
    assert (identity.issuer, identity.subject, identity.claims["email"]) == (ISSUER, "ada", "ada@example.org")


@pytest.mark.parametrize(
    "changed",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"exp": NOW_S - 120},
        {"iss": "https://elsewhere.example.org"},
        {"aud": "somebody else"},
        {"aud": ["us", "somebody else"], "azp": "somebody else"},
        {"sub": None},
        {"iat": NOW_S + 600},
    ],
)
def test_a_token_of_another_sign_in_time_or_client_is_refused(changed: dict[str, Any]) -> None:
    claims = {name: value for name, value in (CLAIMS | changed).items() if value is not None}
    with pytest.raises(Unauthenticated, match="ID token"):
        finish(signed(claims))


def test_a_token_that_somebody_else_signed_is_refused() -> None:
    with pytest.raises(Unauthenticated, match="not valid"):
        finish(signed(CLAIMS, FOREIGN))
    with pytest.raises(Unauthenticated, match="not valid"):  # whoever knows the client's secret
        finish(signed(CLAIMS, OctKey.import_key("s" * 32), "HS256"))
    head, body, _ = signed(CLAIMS).split(".")
    with pytest.raises(Unauthenticated, match="not valid"):
        finish(f"{head}.{body}.")


def test_a_provider_of_another_name_is_none() -> None:
    with pytest.raises(Unavailable, match="TRADEWIND_OIDC_ISSUER"):
        provider("", issuer="https://login.example.com").begin("https://here/back")


def test_sign_in_request_has_state_nonce_and_challenge() -> None:
    begun = provider("").begin("https://here/back")
    asked = dict(httpx.URL(begun.address).params)
    assert asked["state"] == begun.state
    assert asked["nonce"] == begun.nonce
    assert (asked["code_challenge_method"], asked["response_type"]) == ("S256", "code")
    assert begun.verifier not in begun.address
