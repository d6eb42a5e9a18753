"""Refused access is answered with the option that gives it."""

import pytest

from tradewind_agent.engine.access_advice import advise_on_access
from tradewind_agent.engine.http.address import Login, Url
from tradewind_agent.engine.http.credentials import Credentials
from tradewind_agent.engine.options import EngineOptions

PLACE = Url.parse("https://data.example/set/file")


def advise(status: int, options: EngineOptions | None = None, *, url: Url = PLACE, **headers: str) -> str:
    return advise_on_access(
        status, {name.replace("_", "-"): headers[name] for name in headers}, url, options or OPTIONS
    )


OPTIONS = EngineOptions()
WITH_LOGIN = EngineOptions(credentials=Credentials(by_host={"data.example": Login("me", "secret")}))
WITH_HEADER = EngineOptions(credentials=Credentials(unbound={"X-Key": "secret"}).bind([PLACE.origin]))


@pytest.mark.parametrize("status", [401, 403])
def test_server_without_credentials_is_answered_with_all_ways_to_give_them(status):
    advice = advise(status)
    assert all(way in advice for way in ("--bearer-token", "--header", "a login for data.example in ~/.netrc"))


@pytest.mark.parametrize("options", [WITH_LOGIN, WITH_HEADER])
def test_credentials_that_were_sent_are_not_recommended_again(options):
    assert advise(401, options) == "; it does not accept the credentials that were sent"
    assert "--bearer-token" not in advise(403, options)
    assert "secret" not in advise(401, options) + advise(403, options)


def test_object_store_by_its_web_address_is_answered_with_the_other_form():
    assert "s3://BUCKET/KEY" in advise(403, x_amz_request_id="1")


def test_signed_address_is_not_answered_with_credentials():
    signed = Url.parse("https://data.example/set/file?X-Amz-Signature=abc&X-Amz-Expires=60")
    assert "expired" in advise(403, url=signed, x_amz_request_id="1")


@pytest.mark.parametrize(("is_signed", "way"), [(True, "--profile"), (False, "in place of --anonymous")])
def test_bucket_is_answered_with_credentials_of_stores(is_signed, way):
    options = EngineOptions()
    options.hooks.add_source(PLACE.origin, object())  # type: ignore[arg-type]
    if is_signed:
        options.hooks.add_signer(PLACE.origin, object())  # type: ignore[arg-type]
    advice = advise(403, options)
    assert way in advice
    assert "--bearer-token" not in advice


@pytest.mark.parametrize("status", [404, 407, 500])
def test_other_answers_are_not_about_access(status):
    assert advise(status) == ""


@pytest.mark.parametrize(
    ("challenge", "schemes"),
    [
        ('Digest realm="x", nonce="y", qop="auth"', "Digest"),
        ("Negotiate, NTLM", "Negotiate or NTLM"),
    ],
)
def test_login_of_a_kind_that_cannot_be_given_is_named(challenge: str, schemes: str):
    advice = advise(401, WITH_LOGIN, www_authenticate=challenge)
    assert advice == f"; it accepts only logins of the kind {schemes}, which this command does not have"


@pytest.mark.parametrize(
    "challenge", ['Digest realm="a", nonce="b", Basic realm="x"', 'Basic realm="Digest, NTLM"', ""]
)
def test_server_that_also_accepts_a_password_has_refused_the_one_sent(challenge: str):
    assert advise(401, WITH_LOGIN, www_authenticate=challenge) == "; it does not accept the credentials that were sent"
