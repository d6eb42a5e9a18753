"""Processes as they are deployed, started where something is wrong or missing: one line, or patience."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from services import serve
from services.observability.telemetry import create_logger
from services.persistence.condition import create_readiness_check
from services.persistence.migrate import prepare_database
from services.persistence.roles import build_app_url, prepare_roles
from services.readiness import Readiness
from services.settings import Settings

API = serve.list_commands(Settings(data_folder=Path("var")))["api"]
URLS = ("DATABASE_URL", "REDIS_URL", "TRADEWIND_ADMIN_DATABASE_URL")


def test_a_missing_setting_ends_the_start_of_the_api_with_a_line_that_names_it():
    environment = {name: value for name, value in os.environ.items() if name not in URLS}
    done = subprocess.run(API, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert (done.stdout, done.stderr) == ("", "api: DATABASE_URL: must be set\n")


def test_an_address_with_a_parameter_that_there_is_not_ends_the_start_of_the_api_with_a_line_that_names_it():
    wrong = {"DATABASE_URL": "postgresql://app:secret@nowhere/db?sslmod=require", "REDIS_URL": "redis://nowhere"}
    done = subprocess.run(API, env=os.environ | wrong, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    told = 'api: DATABASE_URL: must be an address that libpq understands: invalid URI query parameter: "sslmod"\n'
    assert (done.stdout, done.stderr) == ("", told)


def test_a_wrong_setting_ends_serve_with_a_line_that_names_it(monkeypatch, capsys):
    monkeypatch.setenv("TRADEWIND_MIGRATION_LOCK_TIMEOUT_S", "soon")
    assert serve.main() == 2
    told = "serve: TRADEWIND_MIGRATION_LOCK_TIMEOUT_S: must be a number of seconds, at least 0.1\n"
    assert capsys.readouterr() == ("", told)


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), (["--port"], 2)])
def test_help_option_of_serve_starts_nothing(arguments, code, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TRADEWIND_DATA", str(tmp_path / "data"))
    with pytest.raises(SystemExit) as ended:
        serve.main(arguments)
    assert ended.value.code == code
    assert "usage: python -m services.serve" in "".join(capsys.readouterr())
    assert not (tmp_path / "data").exists()


def test_wait_for_migrations_ends_with_them_and_logs_each_reason_once(empty_database, capsys):
    prepare_roles(empty_database)
    looks: list[str] = []

    def pause():
        looks.append("not yet")
        if len(looks) == 2:
            prepare_database(empty_database)

    readiness = Readiness(
        (create_readiness_check(build_app_url(empty_database)),), create_logger("worker", output=sys.stdout)
    )
    readiness.wait(pause)
    assert len(looks) == 2
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in events] == ["not_ready", "ready_again"]
    assert events[0]["reason"].startswith("the database has no schema: run the migrations up to ")
