"""The service of this user: from the environment first, then from the file that ``tradewind login`` writes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tradewind_agent.errors import NotConfigured
from tradewind_agent.folders import build_config_folder, make_private, replace_durably
from tradewind_agent.system_errors import explain_os_error

URL_VARIABLE = "TRADEWIND_URL"
KEY_VARIABLE = "TRADEWIND_KEY"
KEY_FILE_VARIABLE = f"{KEY_VARIABLE}_FILE"
"""Names a file with the key, as systemd and containers hand secrets over."""

_FILE = "service.json"


@dataclass(frozen=True, slots=True)
class Service:
    """Address and key of a service, and where they were read (``environment`` or the file's path)."""

    url: str
    key: str = field(repr=False)
    origin: str


def check_url(url: str) -> str:
    """Return ``url`` without its trailing slash.

    Raises
    ------
    NotConfigured : not an http or https address with a host.
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise NotConfigured(f"{url!r} is no service address; write it like https://tradewind.example.org")
    return url.strip().rstrip("/")


def build_config_file(environ: Mapping[str, str]) -> Path:
    return build_config_folder(environ) / _FILE


def store_service(environ: Mapping[str, str], *, url: str, key: str) -> Path:
    """Store address and key for later commands, mode 0600, and return the path of the file."""
    path = build_config_file(environ)
    make_private(path.parent)
    replace_durably(path, json.dumps({"url": check_url(url), "key": key}).encode() + b"\n")
    return path


def find_service(environ: Mapping[str, str]) -> Service | None:
    """Return the service to use, or ``None`` if none is configured; environment variables precede the file.

    Raises
    ------
    NotConfigured : the file or an address is not what it should be.
    """
    stored, path = _read_file(build_config_file(environ))
    url = environ.get(URL_VARIABLE) or stored.get("url")
    if not url:
        return None
    # A key belongs to its service: the kept one is not sent to another address.
    stored_key = stored.get("key") if check_url(url) == stored.get("url") else None
    key = environ.get(KEY_VARIABLE) or _find_key_of_file(environ) or stored_key
    if not key:
        raise NotConfigured(
            f"no key for {url}: set {KEY_VARIABLE} or {KEY_FILE_VARIABLE}, or run `tradewind login {url} --key KEY`"
        )
    return Service(check_url(url), key, "environment" if environ.get(URL_VARIABLE) else str(path))


def require_service(environ: Mapping[str, str]) -> Service:
    """Return the service to use.

    Raises
    ------
    NotConfigured : there is none; the message says how to name one.
    """
    service = find_service(environ)
    if service is None:
        raise NotConfigured(
            f"no service is configured: run `tradewind login URL --key KEY` or set {URL_VARIABLE} and {KEY_VARIABLE}"
        )
    return service


def _find_key_of_file(environ: Mapping[str, str]) -> str | None:
    path = environ.get(KEY_FILE_VARIABLE)
    if not path:
        return None
    try:
        key = Path(path).read_text("ascii").strip()
    except OSError as failure:
        raise NotConfigured(f"{path} ({KEY_FILE_VARIABLE}) cannot be read: {explain_os_error(failure)}") from None
    except ValueError:
        key = ""
    if not key:
        raise NotConfigured(f"{path} ({KEY_FILE_VARIABLE}) holds no key")
    return key


def _read_file(path: Path) -> tuple[dict[str, str], Path]:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}, path
    except OSError as failure:
        raise NotConfigured(f"{path} cannot be read: {explain_os_error(failure)}") from None
    except ValueError:
        raise NotConfigured(f"{path} is damaged; run `tradewind login URL --key KEY` again") from None
    if not isinstance(content, dict) or not all(isinstance(content.get(name), str) for name in ("url", "key")):
        raise NotConfigured(f"{path} holds no address and key; run `tradewind login URL --key KEY` again")
    return content, path
