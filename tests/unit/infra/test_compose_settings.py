"""What the containers of docker-compose.yml are told: settings, and secrets in files."""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from services.embedded.postgres import DATABASE
from services.persistence.roles import APP
from services.settings import Settings
from tests.unit.infra.compose_file import BACKUPS, COMPOSE, OWN, ROOT, SERVICES

COMPOSE_ALONE = {
    "TRADEWIND_BACKUPS",
    "TRADEWIND_BACKUP_AT",
    "TRADEWIND_BACKUP_KEEP",
    "TRADEWIND_BUILD_NETWORK",
    "TRADEWIND_DOMAIN",
    "TRADEWIND_FRONT_NETWORK",
    "TRADEWIND_HTTPS_PORT",
    "TRADEWIND_HTTP_PORT",
    "TRADEWIND_TLS",
    "TRADEWIND_WAREHOUSE_ADDRESS",
    "TRADEWIND_WAREHOUSE_PASSWORD",
    "TRADEWIND_WAREHOUSE_SSLMODE",
    "TRADEWIND_WAREHOUSE_USER",
}


"""Settings of the containers around ours; docs/how-to/install-with-compose.md tells of each."""


class Noting(dict[str, str]):
    """An environment that remembers which variables were looked up."""

    def __init__(self, values):
        super().__init__(values)
        self.asked = set()

    def get(self, variable, default=None):
        self.asked.add(variable)
        return super().get(variable, default)


@pytest.fixture
def secrets(tmp_path):
    """The folder that infra/compose-secrets makes in a checkout without one."""
    (tmp_path / "infra").mkdir()
    script = shutil.copy(ROOT / "infra" / "compose-secrets", tmp_path / "infra")
    for _ in range(2):  # the second time it must leave everything as it is
        subprocess.run([script], check=True, stderr=subprocess.PIPE)
    return tmp_path / "secrets"


def environment_of(service, secrets):
    """What the service's container finds in its environment when the host sets nothing."""
    return {
        name: str(secrets / Path(value).name) if name.endswith("_FILE") else value or ""
        for name, value in SERVICES[service]["environment"].items()
    }


@pytest.mark.parametrize(
    ("service", "program"),
    [
        ("api", "import services.app; services.app.app_from_environment()"),
        ("worker", "import workers.app"),
        ("journal", "import workers.app"),
        ("beat", "import workers.app"),
    ],
)
def test_each_process_receives_all_settings_that_it_reads(service, program, secrets):
    told = Noting({})
    Settings.from_environment(told, data_folder=Path("/tmp"))
    others = {name: value for name, value in os.environ.items() if name not in told.asked}
    subprocess.run([sys.executable, "-c", program], env=others | environment_of(service, secrets), check=True)


@pytest.mark.parametrize(
    ("given", "out", "err"),
    [
        ("", "2\n", ""),
        ("3", "3\n", ""),
        ("many", "", "workers: TRADEWIND_TASK_WORKERS: must be a whole number from 1 to 256\n"),
    ],
)
def test_worker_fits_the_configured_number_of_links_at_once(given, out, err, secrets):
    environment = os.environ | environment_of("worker", secrets) | {"TRADEWIND_TASK_WORKERS": given}
    program = "from workers.app import app; print(app.conf.worker_concurrency)"
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == (out, err)


@pytest.mark.parametrize("service", sorted(OWN))
def test_every_variable_is_one_that_settings_read(service, secrets):
    given = environment_of(service, secrets)
    environment = Noting(given)
    settings = Settings.from_environment(environment, data_folder=Path("/tmp"))
    of_others = {name for name in given if name.startswith("OTEL_") or name == "TMPDIR"}  # OpenTelemetry's, Python's
    assert set(given) - of_others <= environment.asked
    urls = {
        "DATABASE_URL_FILE": settings.database_url,
        "TRADEWIND_ADMIN_DATABASE_URL_FILE": settings.admin_database_url,
        "REDIS_URL_FILE": settings.redis_url,
    }
    assert {name for name, url in urls.items() if url is not None} <= set(given)


def test_migrations_receive_their_time_limits(secrets):
    told = Noting({})
    Settings.from_environment(told, data_folder=Path("/tmp"))
    assert {
        name for name in told.asked if name.startswith("TRADEWIND_MIGRATION_") and not name.endswith("_FILE")
    } <= set(environment_of("migrate", secrets))


@pytest.mark.parametrize(
    ("name", "services", "secret"),
    [("sign-on", {"api"}, "oidc_client_secret"), ("object-store", {"api", "worker"}, "aws_credentials")],
)
def test_optional_service_reads_its_secret_from_a_file(name, services, secret):
    added = yaml.safe_load((ROOT / "infra" / f"compose-{name}.yml").read_text(encoding="utf-8"))
    assert added["services"].keys() == services
    for each in added["services"].values():
        assert each["secrets"] == [secret]
        assert f"/run/secrets/{secret}" in each["environment"].values()
    assert added["secrets"] == {secret: {"file": f"secrets/{secret}"}}


def test_no_variable_that_is_handed_on_is_a_secret():
    secret = re.compile("SECRET|PASSWORD|KEY")
    handed_on = {name for each in SERVICES.values() for name, value in each.get("environment", {}).items() if not value}
    assert {name for name in handed_on if secret.search(name)} == set()


def test_variables_of_the_host_are_settings_too():
    environment = Noting({})
    Settings.from_environment(environment, data_folder=Path("/tmp"))
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"\$\{(\w+)", text)) <= environment.asked | COMPOSE_ALONE


def test_every_setting_of_the_containers_is_documented_for_operators():
    told = (ROOT / "docs" / "how-to" / "install-with-compose.md").read_text(encoding="utf-8")
    assert {name for name in COMPOSE_ALONE if f"`{name}`" not in told} == set()


def test_the_administrator_of_the_database_is_known_to_migrations_and_backups_alone():
    knowing = [name for name, each in SERVICES.items() if "admin_database_url" in each.get("secrets", [])]
    assert knowing == ["migrate", *BACKUPS]


def test_each_service_mounts_the_secrets_that_it_names():
    for name, service in SERVICES.items():
        assert set(re.findall(r"/run/secrets/(\w+)", str(service))) == set(service.get("secrets", [])), name


def test_the_secrets_are_made_for_what_compose_mounts(secrets):
    assert {f"secrets/{path.name}" for path in secrets.iterdir()} == {
        secret["file"] for secret in COMPOSE["secrets"].values()
    }
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
    passwords = {name: (secrets / name).read_text().strip() for name in ("postgres_password", "redis_conf")}
    password, requirepass = passwords["postgres_password"], passwords["redis_conf"]
    assert (
        secrets / "admin_database_url"
    ).read_text() == f"postgresql://postgres:{password}@postgres:5432/{DATABASE}\n"
    assert re.fullmatch(
        rf"postgresql://{APP}:\w{{40}}@postgres:5432/{DATABASE}\n", (secrets / "database_url").read_text()
    )
    assert (secrets / "redis_url").read_text() == f"redis://:{requirepass.removeprefix('requirepass ')}@redis:6379/0\n"
    assert len(password) == len(requirepass.removeprefix("requirepass ")) == 40


def test_no_password_is_in_the_file_and_no_secret_in_git():
    assert SERVICES["postgres"]["environment"].keys() == {"POSTGRES_DB", "POSTGRES_INITDB_ARGS"}
    assert "secrets/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()[1] == "*"


def test_a_password_of_grafana_is_added_to_secrets_of_an_earlier_version(secrets):
    (secrets / "grafana_password").unlink()
    before = {path.name: path.read_text() for path in secrets.iterdir()}
    subprocess.run([secrets.parent / "infra" / "compose-secrets"], check=True, stderr=subprocess.PIPE)
    after = {path.name: path.read_text() for path in secrets.iterdir()}
    assert re.fullmatch(r"\w{40}\n", after.pop("grafana_password"))
    assert after == before
