from pathlib import Path

import pytest

from services.settings import Settings
from tradewind.errors import InvalidValue

HERE = Path("var")


def test_an_empty_environment_gives_embedded_servers_and_the_usual_port():
    settings = Settings.from_environment({}, data_folder=HERE)
    assert (settings.database_url, settings.redis_url, settings.port) == (None, None, 8080)
    assert settings.data_folder == HERE


def test_no_proxy_is_believed_unless_it_is_named():
    assert Settings.from_environment({}, data_folder=HERE).proxies == ""
    named = Settings.from_environment({"TRADEWIND_PROXIES": "127.0.0.1"}, data_folder=HERE)
    assert named.proxies == "127.0.0.1"


def test_an_empty_variable_counts_as_absent():
    assert Settings.from_environment({"DATABASE_URL": "", "TRADEWIND_PORT": " "}, data_folder=HERE).port == 8080


@pytest.mark.parametrize("variable", ["DATABASE_URL", "REDIS_URL", "TRADEWIND_ADMIN_DATABASE_URL"])
def test_missing_required_url_is_reported_with_its_variable(variable):
    def required(**environment):
        settings = Settings.from_environment(environment, data_folder=HERE)
        return getattr(settings, f"required_{variable.removeprefix('TRADEWIND_').lower()}")

    url = "redis://cache:6379/0" if variable == "REDIS_URL" else "postgresql://app@db/tradewind"
    assert required(**{variable: url}) == url
    with pytest.raises(InvalidValue, match="must be set") as caught:
        required()
    assert caught.value.field == variable


def test_variables_replace_the_defaults():
    environment = {
        "DATABASE_URL": "postgresql://app@db/tradewind",
        "REDIS_URL": "redis://cache:6379/0",
        "TRADEWIND_PORT": "9000",
        "TRADEWIND_DATA": "/srv/tradewind",
    }
    settings = Settings.from_environment(environment, data_folder=HERE)
    assert settings.database_url == "postgresql://app@db/tradewind"
    assert settings.redis_url == "redis://cache:6379/0"
    assert settings.port == 9000
    assert settings.data_folder == Path("/srv/tradewind")


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("TRADEWIND_PORT", "http", "from 1 to 65535"),
        ("TRADEWIND_PORT", "70000", "from 1 to 65535"),
        ("TRADEWIND_TASK_WORKERS", "0", "from 1 to 256"),
        ("TRADEWIND_KEPT_RELEASES", "1", "from 2 to 10000"),
        ("DATABASE_URL", "mysql://db", "postgresql:"),
        ("REDIS_URL", "http://cache", "redis:"),
    ],
)
def test_wrong_value_is_reported_with_its_variable(variable, value, reason):
    with pytest.raises(InvalidValue, match=reason) as caught:
        Settings.from_environment({variable: value}, data_folder=HERE)
    assert caught.value.field == variable


def test_worker_metrics_need_a_folder_next_to_the_port():
    def metrics(**environment):
        return Settings.from_environment(environment, data_folder=HERE).worker_metrics

    assert metrics() is None
    assert metrics(PROMETHEUS_MULTIPROC_DIR="/run/m") is None
    told = metrics(TRADEWIND_WORKER_METRICS_PORT="9808", PROMETHEUS_MULTIPROC_DIR="/run/m")
    assert told == ("127.0.0.1", 9808, Path("/run/m"))
    with pytest.raises(InvalidValue) as caught:
        metrics(TRADEWIND_WORKER_METRICS_PORT="9808")
    assert caught.value.field == "PROMETHEUS_MULTIPROC_DIR"


def test_metrics_of_workers_stay_on_the_host_however_open_the_api_is():
    environment = {
        "TRADEWIND_HOST": "0.0.0.0",
        "TRADEWIND_WORKER_METRICS_PORT": "9808",
        "PROMETHEUS_MULTIPROC_DIR": "/run/m",
    }

    def host(**more):
        told = Settings.from_environment(environment | more, data_folder=HERE).worker_metrics
        assert told is not None
        return told[0]

    assert host() == "127.0.0.1"
    assert host(TRADEWIND_WORKER_METRICS_HOST="10.0.0.7") == "10.0.0.7"


def test_wrong_url_is_reported_without_its_password():
    with pytest.raises(InvalidValue) as caught:
        Settings.from_environment({"DATABASE_URL": "mysql://user:secret@db"}, data_folder=HERE)
    assert "secret" not in str(caught.value)


def test_a_value_may_be_in_a_file(tmp_path):
    secret = tmp_path / "database_url"
    secret.write_text("postgresql://app:secret@db/tradewind\n")
    settings = Settings.from_environment({"DATABASE_URL_FILE": str(secret)}, data_folder=HERE)
    assert settings.database_url == "postgresql://app:secret@db/tradewind"


def test_a_value_given_twice_is_refused(tmp_path):
    secret = tmp_path / "redis_url"
    secret.write_text("redis://cache")
    with pytest.raises(InvalidValue, match="together with REDIS_URL") as caught:
        Settings.from_environment({"REDIS_URL": "redis://cache", "REDIS_URL_FILE": str(secret)}, data_folder=HERE)
    assert caught.value.field == "REDIS_URL_FILE"


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "cannot read .*: No such file"), (b"\n", "is empty"), (b"\xff", "not text")]
)
def test_file_without_a_value_is_reported_with_its_variable(tmp_path, content, reason):
    path = tmp_path / "url"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidValue, match=reason) as caught:
        Settings.from_environment({"DATABASE_URL_FILE": str(path)}, data_folder=HERE)
    assert caught.value.field == "DATABASE_URL_FILE"


def test_wrong_value_in_a_file_is_reported_without_the_value(tmp_path):
    path = tmp_path / "url"
    path.write_text("mysql://user:secret@db")
    with pytest.raises(InvalidValue, match="postgresql:") as caught:
        Settings.from_environment({"DATABASE_URL_FILE": str(path)}, data_folder=HERE)
    assert "secret" not in str(caught.value)
