"""docker-compose.yml, infra/Dockerfile and the code say the same; Docker itself is not needed to see it."""

import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from services.api.arrival import BoundedHttp
from services.api.draining import IDLE_DRAIN_S, Draining
from services.api_process import KEEP_ALIVE_S, STREAMS_END_S
from services.embedded.postgres import DATABASE, INITDB_OPTIONS
from services.persistence.engine import MAX_OVERFLOW, POOL_SIZE
from services.serve import list_commands
from services.settings import Settings
from tests.unit.infra.compose_file import (
    BACKUPS,
    CADDYFILE,
    COMPOSE,
    DOCKERFILE,
    ONCE,
    OWN,
    ROOT,
    SERVER,
    SERVICES,
    UPLOADS,
    WATCHING,
    module_and_arguments,
    with_defaults,
)
from tradewind_agent.service.calls import IDLE_CONNECTION_S
from tradewind_agent.tuning.pace import TICK_S


@pytest.mark.parametrize(
    ("service", "process"), [("api", "api"), ("worker", "workers"), ("journal", "journal"), ("beat", "schedule")]
)
def test_processes_are_started_as_by_serve(service, process):
    front = with_defaults(COMPOSE["networks"]["front"]["ipam"]["config"][0]["subnet"])
    settings = Settings(host="0.0.0.0", data_folder=Path("/tmp"), proxies=f"{front},127.0.0.1")
    module, *arguments = module_and_arguments(list_commands(settings)[process])
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


def test_caddy_receives_every_variable_that_its_file_uses():
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


def test_watching_services_start_only_with_their_profile_and_listen_only_locally():
    assert {name for name, each in SERVICES.items() if each.get("profiles") == ["watch"]} == WATCHING
    for name in WATCHING:
        assert not SERVICES[name]["user"].startswith(("0", "root")), name
        assert [port.split(":")[0] for port in SERVICES[name]["ports"]] == ["127.0.0.1"], name
        for volume in SERVICES[name]["volumes"]:
            source, _, options = volume.partition(":")
            if source.startswith("."):
                assert (ROOT / source).exists(), volume
                assert options.endswith(":ro"), volume
            else:
                assert source in COMPOSE["volumes"], volume


def test_backups_start_only_with_their_profile():
    assert [name for name, each in SERVICES.items() if each.get("profiles") == ["backup"]] == BACKUPS
    assert [name for name, each in SERVICES.items() if each.get("profiles") == ["restore"]] == ["restore"]
    assert {SERVICES[name]["image"] for name in (*BACKUPS, "restore")} == {SERVICES["api"]["image"]}


@pytest.mark.parametrize("script", ["upgrade", "restore"])
def test_second_script_on_the_same_containers_reports_the_first_and_ends(script, tmp_path):
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
    assert (8 + 1) * api + 4 * worker + journal + beside <= allowed, "docs/how-to/add-capacity.md tells so many"


def test_redis_refuses_to_write_before_the_kernel_kills_it():
    memory = SERVICES["redis"]["mem_limit"]
    assert memory == "1g"
    assert number_in(SERVICES["redis"]["command"], "maxmemory") < 0.75 * 1024
    assert "noeviction" in str(SERVICES["redis"]["command"])


def test_no_container_fills_the_disk_with_its_log():
    assert all(each["logging"]["options"].keys() == {"max-size", "max-file"} for each in SERVICES.values())
