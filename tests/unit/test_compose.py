"""docker-compose.yml, infra/Dockerfile and the code say the same; Docker itself is not needed to see it."""

import fcntl
import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from services.api.arrival import BoundedHttp
from services.api.draining import IDLE_DRAIN_S, Draining
from services.api_process import KEEP_ALIVE_S, STREAMS_END_S
from services.embedded.postgres import DATABASE, INITDB_OPTIONS
from services.persistence.engine import MAX_OVERFLOW, POOL_SIZE
from services.persistence.roles import APP
from services.serve import commands
from services.settings import Settings
from tradewind_agent.calls import IDLE_CONNECTION_S
from tradewind_agent.tuning.pace import TICK_S

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
OWN = {"migrate", "api", "worker", "journal", "beat"}
ONCE = {"folders", "migrate", "restore"}
BACKUPS = ["backup", "backup-nightly"]
WATCHING = {"prometheus", "grafana"}
CADDYFILE = (ROOT / "infra" / "caddy" / "Caddyfile").read_text(encoding="utf-8")
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
}
"""Settings of the containers around ours; docs/operations.md tells of each."""

UPLOADS = "uploads"
DOCKERFILE = (ROOT / "infra" / "Dockerfile").read_text(encoding="utf-8")
SERVER = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


class Noting(dict[str, str]):
    """An environment that remembers which variables were looked up."""

    def __init__(self, values):
        super().__init__(values)
        self.asked = set()

    def get(self, variable, default=None):
        self.asked.add(variable)
        return super().get(variable, default)


def with_defaults(text):
    """What Compose makes of ``${VARIABLE:-default}`` where nothing is set."""
    return re.sub(r"\$\{\w+:-(.*?)\}", r"\1", text)


def module_and_arguments(command):
    return [with_defaults(part) for part in command[command.index("-m") + 1 :]]


@pytest.fixture
def secrets(tmp_path):
    """The folder that infra/compose-secrets makes in a checkout without one."""
    (tmp_path / "infra").mkdir()
    script = shutil.copy(ROOT / "infra" / "compose-secrets", tmp_path / "infra")
    for _ in range(2):  # the second time it must leave everything as it is
        subprocess.run([script], check=True, stderr=subprocess.PIPE)
    return tmp_path / "secrets"


@pytest.mark.parametrize(
    ("service", "process"), [("api", "api"), ("worker", "workers"), ("journal", "journal"), ("beat", "schedule")]
)
def test_processes_are_started_as_by_serve(service, process):
    front = with_defaults(COMPOSE["networks"]["front"]["ipam"]["config"][0]["subnet"])
    settings = Settings(host="0.0.0.0", data_folder=Path("/tmp"), proxies=f"{front},127.0.0.1")
    module, *arguments = module_and_arguments(commands(settings)[process])
    in_containers = ["--http=services.api.draining:Draining"] if process == "api" else []
    by_serve = (
        [f"--concurrency={settings.task_workers}"] if process == "workers" else []
    )  # else by TRADEWIND_TASK_WORKERS
    assert [*module_and_arguments(SERVICES[service]["command"]), *by_serve] == [module, *in_containers, *arguments]
    assert issubclass(Draining, BoundedHttp)


def seconds_in_caddyfile(setting):
    number, unit = re.search(rf"^\s*{setting} (\d+)(ms|s|m)\b", CADDYFILE, re.MULTILINE).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60}[unit]


def test_an_agent_lets_go_of_an_idle_connection_before_the_proxy_does():
    assert 2 * TICK_S < IDLE_CONNECTION_S < seconds_in_caddyfile("idle")


def test_the_proxy_lets_go_of_an_idle_connection_before_the_api_does_even_while_it_ends():
    assert seconds_in_caddyfile("keepalive") < IDLE_DRAIN_S < STREAMS_END_S < KEEP_ALIVE_S


def test_caddy_alone_is_reached_from_outside():
    assert {name for name, each in SERVICES.items() if "ports" in each} == {"caddy"} | WATCHING
    assert {name for name, each in SERVICES.items() if "front" in each["networks"]} == {"caddy", "api"}
    assert COMPOSE["networks"]["inside"]["internal"]


def test_caddy_is_told_what_its_file_asks_for():
    assert set(re.findall(r"\{\$(\w+)", CADDYFILE)) <= SERVICES["caddy"]["environment"].keys()


def test_there_are_two_of_the_api():
    assert SERVICES["api"]["scale"] == 2


def test_migrate_prepares_the_database_before_any_other_process():
    assert SERVICES["migrate"]["command"] == ["python", "-m", "services.prepare", "database"]
    assert SERVICES["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    for service in OWN - {"migrate"}:
        assert SERVICES[service]["depends_on"] == {
            "migrate": {"condition": "service_completed_successfully"},
            "folders": {"condition": "service_completed_successfully"},
            "redis": {"condition": "service_healthy"},
        }


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
def test_each_process_is_told_all_that_it_needs(service, program, secrets):
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
def test_a_worker_fits_as_many_links_at_once_as_it_is_told(given, out, err, secrets):
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


def test_migrations_are_told_how_long_they_may_wait_and_take(secrets):
    told = Noting({})
    Settings.from_environment(told, data_folder=Path("/tmp"))
    assert {
        name for name in told.asked if name.startswith("TRADEWIND_MIGRATION_") and not name.endswith("_FILE")
    } <= set(environment_of("migrate", secrets))


def test_bodies_of_uploads_are_put_aside_on_a_volume_and_not_in_memory():
    api, place = SERVICES["api"], SERVICES["api"]["environment"]["TMPDIR"]
    assert place not in api["tmpfs"]
    assert f"{UPLOADS}:{place}" in api["volumes"]
    assert f"{UPLOADS}:{place}" in SERVICES["folders"]["volumes"]
    assert place in SERVICES["folders"]["command"]


def test_worker_and_journal_reach_others_only_where_the_file_for_it_is_named():
    outward = yaml.safe_load((ROOT / "infra" / "compose-outward.yml").read_text(encoding="utf-8"))["services"]
    assert {name for name, each in outward.items() if "networks" in each} == {"worker", "journal"}
    for name in ("worker", "journal"):
        assert SERVICES[name]["networks"] == ["inside"]
        assert outward[name]["networks"] == ["inside", "outside"]
    assert not COMPOSE["networks"]["outside"]


@pytest.mark.parametrize(
    ("name", "services", "secret"),
    [("sign-on", {"api"}, "oidc_client_secret"), ("object-store", {"api", "worker"}, "aws_credentials")],
)
def test_what_is_asked_with_a_secret_is_told_it_in_a_file(name, services, secret):
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


def test_every_setting_of_the_containers_is_told_to_operators():
    told = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
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


def test_servers_are_the_versions_of_the_decision():
    decision = (ROOT / "docs/decisions/0006-embedded-postgresql-and-valkey.md").read_text(encoding="utf-8")
    stated = re.search(r"PostgreSQL (\d+) and Redis (\d+)", decision)
    assert (SERVICES["postgres"]["image"], SERVICES["redis"]["image"]) == (
        f"postgres:{stated[1]}",
        f"redis:{stated[2]}",
    )


def test_the_database_is_made_as_the_embedded_one():
    options = SERVICES["postgres"]["environment"]["POSTGRES_INITDB_ARGS"].split()
    ours = {option for option in INITDB_OPTIONS if option.startswith(("--encoding", "--locale"))}
    assert set(options) == ours | {"--builtin-locale=C.UTF-8"}
    assert SERVICES["postgres"]["environment"]["POSTGRES_DB"] == DATABASE


def test_all_processes_share_one_image_of_this_version():
    assert {SERVICES[service]["image"] for service in OWN} == {f"tradewind-server:{SERVER['project']['version']}"}


def test_all_that_do_not_end_start_again_and_say_whether_they_are_well():
    for name in SERVICES.keys() - ONCE:
        assert SERVICES[name]["restart"] == "unless-stopped", name
        assert SERVICES[name]["healthcheck"]["test"], name


def test_who_watches_is_asked_for_apart_and_by_nobody_elsewhere():
    assert {name for name, each in SERVICES.items() if each.get("profiles") == ["watch"]} == WATCHING
    for name in WATCHING:
        assert not SERVICES[name]["user"].startswith(("0", "root")), name
        assert [port.split(":")[0] for port in SERVICES[name]["ports"]] == ["127.0.0.1"], name
        for volume in SERVICES[name]["volumes"]:
            source, _, options = volume.partition(":")
            assert source in COMPOSE["volumes"] or ((ROOT / source).exists() and options.endswith(":ro")), volume


def test_backups_are_asked_for_apart():
    assert [name for name, each in SERVICES.items() if each.get("profiles") == ["backup"]] == BACKUPS
    assert [name for name, each in SERVICES.items() if each.get("profiles") == ["restore"]] == ["restore"]
    assert {SERVICES[name]["image"] for name in (*BACKUPS, "restore")} == {SERVICES["api"]["image"]}


@pytest.mark.parametrize("script", ["upgrade", "restore"])
def test_of_two_that_change_the_same_containers_the_second_says_so_and_ends(script, tmp_path):
    (tmp_path / "infra").mkdir()
    for name in (script, "compose.sh"):
        shutil.copy(ROOT / "infra" / name, tmp_path / "infra")
    place = os.open(tmp_path / "infra", os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        ran = subprocess.run([tmp_path / "infra" / script], check=False, capture_output=True, text=True)
    finally:
        os.close(place)
    assert ran.returncode == 1
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"{script}: another infra/upgrade or infra/restore is at work here")


def test_a_password_of_grafana_is_added_to_secrets_of_an_earlier_version(secrets):
    (secrets / "grafana_password").unlink()
    before = {path.name: path.read_text() for path in secrets.iterdir()}
    subprocess.run([secrets.parent / "infra" / "compose-secrets"], check=True, stderr=subprocess.PIPE)
    after = {path.name: path.read_text() for path in secrets.iterdir()}
    assert re.fullmatch(r"\w{40}\n", after.pop("grafana_password"))
    assert after == before


def test_no_process_has_rights_that_it_does_not_need():
    for name, service in SERVICES.items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
    assert {name for name, each in SERVICES.items() if "cap_add" in each} == {
        "caddy",
        "folders",
        "postgres",
        "restore",
    }
    assert {SERVICES[name]["user"] for name in ("caddy", "redis")} == {"10001:10001"}
    assert "--uid 10001" in DOCKERFILE
    assert re.search(r"^USER (?!root)\w+$", DOCKERFILE, re.MULTILINE)


def test_each_container_has_bounds():
    for name, service in SERVICES.items():
        assert {"mem_limit", "cpus", "pids_limit"} <= service.keys(), name


def test_api_and_workers_can_be_many():
    for name in ("api", "worker"):
        assert "container_name" not in SERVICES[name]
        assert "ports" not in SERVICES[name]
    assert "OPENBLAS_NUM_THREADS=1" in DOCKERFILE


def test_the_image_is_built_from_every_package_and_from_hashes():
    copied = {
        source for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE) for source in line.split()
    }
    needed = {*SERVER["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"], "core", "clients/python"}
    assert needed | {"requirements.txt", "pyproject.toml", SERVER["project"]["readme"]} <= copied
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"}
    assert copied <= let_in
    assert "--require-hashes" in DOCKERFILE


def number_in(command, setting):
    return int(re.search(rf"{setting}[= ](\d+)", str(command))[1])


def test_connections_suffice_to_upgrade_eight_containers_of_the_api_and_four_workers():
    api, worker, journal = POOL_SIZE + MAX_OVERFLOW, 8, 4
    allowed = number_in(SERVICES["postgres"]["command"], "max_connections")
    beside = 10  # of readiness, the state of the service and administrators
    assert (8 + 1) * api + 4 * worker + journal + beside <= allowed, "docs/operations.md tells so many"


def test_redis_refuses_to_write_before_the_kernel_kills_it():
    memory = SERVICES["redis"]["mem_limit"]
    assert memory == "1g"
    assert number_in(SERVICES["redis"]["command"], "maxmemory") < 0.75 * 1024
    assert "noeviction" in str(SERVICES["redis"]["command"])


def test_no_container_fills_the_disk_with_its_log():
    assert all(each["logging"]["options"].keys() == {"max-size", "max-file"} for each in SERVICES.values())
