"""Credentials of the environment are used without botocore, where nothing else has a say, and are those it finds."""

import sys
from pathlib import Path

import pytest

from tradewind_agent.engine.store_access import StoreAccess
from tradewind_agent.stores.s3.key_source import AccessKey
from tradewind_agent.stores.s3.session import StoreSession, open_session


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A key in the environment, and empty files of AWS tools."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_DEFAULT_REGION"):
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
