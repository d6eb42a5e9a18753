"""Signatures are those that botocore makes."""

import hmac
from datetime import UTC, datetime
from hashlib import sha256

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tradewind_agent.engine.http.address import Url
from tradewind_agent.stores.s3.bucket_pages import make_page_url
from tradewind_agent.stores.s3.key_source import AccessKey
from tradewind_agent.stores.s3.session import StoreSession
from tradewind_agent.stores.s3.signer import SignerV4

NOW = datetime(2026, 5, 17, 23, 59, 58, tzinfo=UTC)
BUCKET = Url.parse("http://127.0.0.1:9000/").join_path("data", is_folder=True)
KEYS = ["a", "a b/ü.bin", "//x", "../up", "a+b&c=d?e#f;g'(h),i", "~!*$@:[x]", "%41", "日本", "a" * 1024]


class UnsignedBody(S3SigV4Auth):
    """As botocore signs, with the body left out, which it does by itself over https alone."""

    def payload(self, request: AWSRequest) -> str:
        return "UNSIGNED-PAYLOAD"


def sign_by_botocore(method: str, url: Url, key: AccessKey) -> dict[str, str]:
    is_object = "?" not in url.target
    request = AWSRequest(method, str(url), headers={"x-amz-checksum-mode": "ENABLED"} if is_object else {})
    UnsignedBody(Credentials(key.id, key.secret, key.token), "s3", "eu-west-1").add_auth(request)
    return {name.lower(): value for name, value in request.headers.items()}


@pytest.mark.parametrize("token", [None, "a session/token+=="])
@pytest.mark.parametrize(
    "url",
    [*map(BUCKET.join_path, KEYS), *(make_page_url(BUCKET, key, "t/o+k=n") for key in KEYS)],
    ids=lambda url: url.target[-20:],
)
def test_signatures_are_those_of_botocore(url: Url, token: str | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: NOW)
    key = AccessKey("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token)
    session = StoreSession(region="us-east-1", endpoint_url=None, get_key=lambda: key, pays=False)
    ours = SignerV4(session, "eu-west-1", lambda: NOW).sign("GET", url, {"Host": url.origin.authority})
    assert {name.lower(): value for name, value in ours.items()} == sign_by_botocore("GET", url, key)


def test_headers_of_the_store_are_signed_and_others_are_not():
    key = AccessKey("AK", "SK")
    session = StoreSession(region="us-east-1", endpoint_url=None, get_key=lambda: key, pays=True)
    signer = SignerV4(session, "us-east-1", lambda: NOW)
    headers = {"Host": "h", "X-Amz-Meta-A": "1  2", "Range": "bytes=0-1"}
    signed = signer.sign("PUT", BUCKET.join_path("a"), headers)
    assert signed["x-amz-request-payer"] == "requester"
    names = "host;x-amz-content-sha256;x-amz-date;x-amz-meta-a;x-amz-request-payer"
    assert f"SignedHeaders={names}," in signed["Authorization"]
    assert (
        signed["Authorization"]
        != signer.sign("PUT", BUCKET.join_path("a"), headers | {"X-Amz-Meta-A": "2"})["Authorization"]
    )
    assert (
        signed["Authorization"]
        == signer.sign("PUT", BUCKET.join_path("a"), headers | {"Range": "bytes=0-2"})["Authorization"]
    )


def test_another_day_or_key_makes_another_signature():
    days, keys = [NOW, NOW.replace(day=18), NOW], [AccessKey("AK", "SK"), AccessKey("AK", "SK"), AccessKey("AK", "new")]
    session = StoreSession(region="us-east-1", endpoint_url=None, get_key=lambda: keys[0], pays=False)
    signer = SignerV4(session, "us-east-1", lambda: days[0])
    made = []
    while days:
        made.append(signer.sign("GET", BUCKET, {"Host": "h"})["Authorization"])
        days.pop(0)
        keys.pop(0)
    assert len(set(made)) == 3


def test_metadata_is_signed_as_it_goes_on_the_way():
    """A store states names in other characters as bytes, which come and go as Latin-1."""
    session = StoreSession("us-east-1", None, lambda: AccessKey("AK", "SK"), pays=False)
    signer = SignerV4(session, "us-east-1", lambda: NOW)
    value = "köln".encode().decode("latin-1")
    ours = signer.sign("PUT", BUCKET.join_path("a"), {"Host": "h", "x-amz-meta-n": value})["Authorization"]
    headers = f"host:h\nx-amz-content-sha256:UNSIGNED-PAYLOAD\nx-amz-date:20260517T235958Z\nx-amz-meta-n:{value}\n"
    names = "host;x-amz-content-sha256;x-amz-date;x-amz-meta-n"
    canonical = f"PUT\n/data/a\n\n{headers}\n{names}\nUNSIGNED-PAYLOAD".encode("latin-1")
    scope = "20260517/us-east-1/s3/aws4_request"
    to_sign = f"AWS4-HMAC-SHA256\n20260517T235958Z\n{scope}\n{sha256(canonical).hexdigest()}"
    derived = b"AWS4SK"
    for part in scope.split("/"):
        derived = hmac.digest(derived, part.encode(), "sha256")
    assert ours.endswith(f"Signature={hmac.digest(derived, to_sign.encode(), 'sha256').hex()}")


@pytest.mark.parametrize("requests_sums", [True, False])
def test_sums_of_objects_are_requested_where_the_store_takes_that(*, requests_sums: bool):
    session = StoreSession("us-east-1", None, lambda: AccessKey("AK", "SK"), pays=False, requests_sums=requests_sums)
    signed = SignerV4(session, "us-east-1", lambda: NOW).sign("GET", BUCKET.join_path("a"), {"Host": "h"})
    assert ("x-amz-checksum-mode" in signed) is requests_sums
