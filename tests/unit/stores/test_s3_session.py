"""Credentials of the environment are used without botocore, where nothing else has a say, and are those it finds."""

import sys
from pathlib import Path

import pytest

from tradewind_agent.engine.store_access import StoreAccess
from tradewind_agent.errors import UnusableSource
from tradewind_agent.stores.s3.key_source import AccessKey
from tradewind_agent.stores.s3.session import StoreSession, open_session


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A key in the environment, and empty files of AWS tools."""
    names = ("PROFILE", "SESSION_TOKEN", "ENDPOINT_URL", "ENDPOINT_URL_S3", "DEFAULT_REGION")
    sums = ("REQUEST_CHECKSUM_CALCULATION", "RESPONSE_CHECKSUM_VALIDATION")
    for name in (f"AWS_{each}" for each in (*names, *sums, "IGNORE_CONFIGURED_ENDPOINT_URLS")):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "AWS_CONFIG_FILE").touch()
    open_session.cache_clear()


def describe(session: StoreSession) -> tuple[str, str | None, AccessKey | None]:
    return session.region, session.endpoint_url, None if session.get_key is None else session.get_key()


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"AWS_SESSION_TOKEN": "token", "AWS_DEFAULT_REGION": "eu-west-3"},
        {"AWS_ENDPOINT_URL": "http://one", "AWS_ENDPOINT_URL_S3": "http://other"},
    ],
    ids=str,
)
def test_access_of_the_environment_is_that_of_botocore(variables, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "botocore.session", None)
        quick = describe(open_session(StoreAccess()))
    open_session.cache_clear()
    (tmp_path / "AWS_CONFIG_FILE").write_text("[profile other]\n")
    assert describe(open_session(StoreAccess())) == quick


def test_options_go_before_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://one")
    session = open_session(StoreAccess(endpoint_url="http://two", region="eu-west-1", pays=True))
    assert (session.endpoint_url, session.region, session.pays) == ("http://two", "eu-west-1", True)


def test_configuration_and_profiles_are_read_where_there_are_any(tmp_path: Path):
    (tmp_path / "AWS_CONFIG_FILE").write_text("[default]\nregion = sa-east-1\nendpoint_url = http://configured\n")
    (tmp_path / "AWS_SHARED_CREDENTIALS_FILE").write_text(
        "[own]\naws_access_key_id = mine\naws_secret_access_key = hidden\n"
    )
    assert describe(open_session(StoreAccess()))[:2] == ("sa-east-1", "http://configured")
    assert describe(open_session(StoreAccess(profile="own")))[2] == AccessKey("mine", "hidden")


@pytest.mark.parametrize("has_configuration", [False, True])
@pytest.mark.parametrize(
    ("variables", "endpoint", "sums"),
    [
        ({}, "http://one", (True, True)),
        ({"AWS_REQUEST_CHECKSUM_CALCULATION": "when_required"}, None, (False, True)),
        ({"AWS_RESPONSE_CHECKSUM_VALIDATION": "WHEN_REQUIRED"}, None, (True, False)),
        ({"AWS_REQUEST_CHECKSUM_CALCULATION": "when_supported"}, None, (True, True)),
        ({}, "https://s3.us-west-004.backblazeb2.com", (False, False)),
        ({"AWS_ENDPOINT_URL_S3": "https://s3.eu-central-003.backblazeb2.com:443/"}, None, (False, False)),
        ({}, "https://backblazeb2.com.example", (True, True)),
    ],
    ids=str,
)
def test_sums_go_with_requests_unless_the_user_or_the_store_has_none(
    variables, endpoint, sums, has_configuration, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if has_configuration:
        (tmp_path / "AWS_CONFIG_FILE").write_text("[profile other]\n")
    session = open_session(StoreAccess(endpoint_url=endpoint))
    assert (session.sends_sums, session.requests_sums) == sums


def test_profile_says_that_sums_do_not_go_with_requests(tmp_path: Path):
    (tmp_path / "AWS_CONFIG_FILE").write_text(
        "[default]\nrequest_checksum_calculation = when_required\nresponse_checksum_validation = when_required\n"
    )
    session = open_session(StoreAccess())
    assert (session.sends_sums, session.requests_sums) == (False, False)


@pytest.mark.parametrize("has_configuration", [False, True])
def test_configured_endpoints_are_ignored_where_the_user_says_so(
    has_configuration, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://one")
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    if has_configuration:
        (tmp_path / "AWS_CONFIG_FILE").write_text("[default]\nendpoint_url = http://configured\n")
    assert open_session(StoreAccess()).endpoint_url is None
    assert open_session(StoreAccess(endpoint_url="http://two")).endpoint_url == "http://two"


def test_line_ends_of_a_file_of_variables_are_no_part_of_a_key(monkeypatch: pytest.MonkeyPatch):
    for name, value in {
        "ACCESS_KEY_ID": "key\r",
        "SECRET_ACCESS_KEY": "secret\r\n",
        "SESSION_TOKEN": "token\n",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    assert describe(open_session(StoreAccess()))[2] == AccessKey("key", "secret", "token")


@pytest.mark.parametrize(
    "answer", ["hello", "[]", '{"Version": 1, "AccessKeyId": "a", "SecretAccessKey": "b", "Expiration": "soon"}']
)
def test_helper_that_answers_something_else_is_refused_in_one_line(answer: str, monkeypatch, tmp_path: Path):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    helper = tmp_path / "helper"
    helper.write_text(f"#!/bin/sh\necho '{answer}'\n")
    helper.chmod(0o755)
    (tmp_path / "AWS_CONFIG_FILE").write_text(f"[default]\ncredential_process = {helper}\n")
    with pytest.raises(
        UnusableSource, match="a helper such as credential_process does not answer as one does"
    ) as refusal:
        open_session(StoreAccess())
    assert "\n" not in str(refusal.value)


def test_helper_that_gives_expired_keys_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    old = '{"Version": 1, "AccessKeyId": "a", "SecretAccessKey": "b", "Expiration": "2020-01-01T00:00:00Z"}'
    helper = tmp_path / "helper"
    helper.write_text(f"#!/bin/sh\necho '{old}'\n")
    helper.chmod(0o755)
    (tmp_path / "AWS_CONFIG_FILE").write_text(f"[default]\ncredential_process = {helper}\n")
    session = open_session(StoreAccess())
    assert session.get_key is not None
    with pytest.raises(UnusableSource, match="the credentials for the object store have expired"):
        session.get_key()


def test_services_without_a_section_of_s3_are_refused_in_one_line(tmp_path: Path):
    (tmp_path / "AWS_CONFIG_FILE").write_text("[default]\nservices = x\n[services x]\ns3 = http://one\n")
    with pytest.raises(UnusableSource, match="s3 of its services x is no section"):
        open_session(StoreAccess())
