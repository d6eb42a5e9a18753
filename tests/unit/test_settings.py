from pathlib import Path

import pytest

from services.settings import Settings
from tradewind.errors import InvalidValue

HERE = Path("var")


def test_an_empty_environment_gives_embedded_servers_and_the_usual_port():
    settings = Settings.from_environment({}, data_folder=HERE)
    assert (settings.database_url, settings.redis_url, settings.port) == (None, None, 8080)
    assert settings.data_folder == HERE


def test_an_empty_variable_counts_as_absent():
    assert Settings.from_environment({"DATABASE_URL": "", "TRADEWIND_PORT": " "}, data_folder=HERE).port == 8080


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
        ("DATABASE_URL", "mysql://db", "postgresql:"),
        ("REDIS_URL", "http://cache", "redis:"),
    ],
)
def test_a_wrong_value_is_told_by_the_variable_it_is_in(variable, value, reason):
    with pytest.raises(InvalidValue, match=reason) as caught:
        Settings.from_environment({variable: value}, data_folder=HERE)
    assert caught.value.field == variable


def test_a_wrong_url_is_told_without_its_password():
    with pytest.raises(InvalidValue) as caught:
        Settings.from_environment({"DATABASE_URL": "mysql://user:secret@db"}, data_folder=HERE)
    assert "secret" not in str(caught.value)
