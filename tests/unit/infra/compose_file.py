"""docker-compose.yml and the files beside it, as tests read them."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
OWN = {"migrate", "api", "worker", "journal", "beat"}
ONCE = {"folders", "migrate", "restore"}
BACKUPS = ["backup", "backup-nightly"]
WATCHING = {"prometheus", "grafana"}
CADDYFILE = (ROOT / "infra" / "caddy" / "Caddyfile").read_text(encoding="utf-8")
UPLOADS = "uploads"
DOCKERFILE = (ROOT / "infra" / "Dockerfile").read_text(encoding="utf-8")
SERVER = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def with_defaults(text):
    """What Compose makes of ``${VARIABLE:-default}`` where nothing is set."""
    return re.sub(r"\$\{\w+:-(.*?)\}", r"\1", text)


def module_and_arguments(command):
    return [with_defaults(part) for part in command[command.index("-m") + 1 :]]
