import pytest

from tradewind_agent.config import build_config_file, find_service, require_service, store_service
from tradewind_agent.errors import NotConfigured

URL = "https://tradewind.example.org"


@pytest.fixture
def environ(tmp_path):
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}


def test_a_login_is_stored_for_the_user_alone(environ, tmp_path):
    path = store_service(environ, url=URL + "/", key="secret")
    assert path == tmp_path / "xdg" / "tradewind" / "service.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    service = require_service(environ)
    assert (service.url, service.key) == (URL, "secret")
    assert "secret" not in repr(service)


def test_a_file_that_others_could_read_is_closed_by_the_next_login(environ):
    path = store_service(environ, url=URL, key="one")
    path.chmod(0o644)
    store_service(environ, url=URL, key="two")
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_the_environment_takes_precedence(environ):
    store_service(environ, url=URL, key="kept")
    assert require_service(environ | {"TRADEWIND_KEY": "other"}).key == "other"
    service = require_service(environ | {"TRADEWIND_URL": "http://localhost:8080", "TRADEWIND_KEY": "k"})
    assert (service.url, service.key, service.origin) == ("http://localhost:8080", "k", "environment")


def test_a_key_may_come_from_a_file(environ, tmp_path):
    file = tmp_path / "key"
    file.write_text("of a file\n")
    asked = environ | {"TRADEWIND_URL": URL, "TRADEWIND_KEY_FILE": str(file)}
    assert require_service(asked).key == "of a file"
    assert require_service(asked | {"TRADEWIND_KEY": "nearer"}).key == "nearer"


@pytest.mark.parametrize(
    ("content", "told"), [(None, "cannot be read"), (b" \n", "holds no key"), (b"\xff", "holds no")]
)
def test_a_file_without_a_key_is_reported(environ, tmp_path, content, told):
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(NotConfigured, match=told):
        find_service(environ | {"TRADEWIND_URL": URL, "TRADEWIND_KEY_FILE": str(file)})


def test_a_stored_key_is_not_sent_to_another_address(environ):
    store_service(environ, url=URL, key="kept")
    with pytest.raises(NotConfigured, match="no key for http://elsewhere"):
        find_service(environ | {"TRADEWIND_URL": "http://elsewhere"})


def test_missing_login_is_reported_with_the_command_to_log_in(environ):
    assert find_service(environ) is None
    with pytest.raises(NotConfigured, match="tradewind login"):
        require_service(environ)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"url": 1, "key": "k"}', b"\xff"])
def test_a_damaged_file_is_reported(environ, content):
    store_service(environ, url=URL, key="k")
    build_config_file(environ).write_bytes(content)
    with pytest.raises(NotConfigured, match="tradewind login"):
        find_service(environ)


def test_a_relative_xdg_folder_is_ignored(tmp_path):
    assert (
        build_config_file({"HOME": str(tmp_path), "XDG_CONFIG_HOME": "x"})
        == tmp_path / ".config/tradewind/service.json"
    )
