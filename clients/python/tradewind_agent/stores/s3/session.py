"""Credentials, region and endpoint of an object store, found as the user's other tools find them."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tradewind_agent.engine.store_access import StoreAccess
from tradewind_agent.errors import LibraryMissing, UnusableSource
from tradewind_agent.stores.s3.key_source import AccessKey, KeySource

_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_USUAL_REGION = "us-east-1"
_LINE_END = "\r\n"
"""What files of variables may leave at the end of a value."""

_IGNORING_VARIABLE = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
_WITHOUT_SUMS = (".backblazeb2.com",)
"""Stores that refuse requests with a header of checksums, which they do not know."""

_MALFORMED = (ValueError, AttributeError, TypeError)
"""What botocore raises of a helper that answers something else than credentials."""

_EXPIRED = (RuntimeError, OSError)
"""What it raises of a helper that gives expired ones, or is gone."""

_MORE_VARIABLES = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_CREDENTIAL_EXPIRATION", "AWS_SECURITY_TOKEN")
"""Variables whose meaning is left to botocore."""


@dataclass(frozen=True, slots=True)
class StoreSession:
    """The access of one user to one store.

    ``endpoint_url`` : ``None`` for AWS itself.
    ``get_key`` : returns the key that is good now. ``None`` where nothing is signed.
    ``sends_sums`` : bodies go with their CRC-32; ``requests_sums`` : the store is asked for the sums of its objects.
    """

    region: str
    endpoint_url: str | None
    get_key: Callable[[], AccessKey] | None
    pays: bool
    sends_sums: bool = True
    requests_sums: bool = True

    @property
    def is_aws(self) -> bool:
        """Return whether the store is AWS itself, and no other that speaks its protocol."""
        return self.endpoint_url is None


@lru_cache(maxsize=8)
def open_session(access: StoreAccess) -> StoreSession:
    """Find how a user reaches a store: options first, then the environment, then the AWS configuration.

    Raises
    ------
    LibraryMissing : botocore is not installed, and it is needed.
    UnusableSource : there are no credentials, or the configuration cannot be read.
    """
    if (session_of_environment := _open_from_environment(access)) is not None:
        return session_of_environment
    errors, session = _open_botocore(access)
    try:
        region = access.region or session.get_config_variable("region") or _USUAL_REGION
        profile = session.get_scoped_config()
        endpoint_url = access.endpoint_url or _find_endpoint_url(session, profile)
        credentials = None if access.is_anonymous else session.get_credentials()
    except errors as error:
        raise UnusableSource(f"the configuration of AWS tools cannot be used: {error}") from error
    except _MALFORMED as error:
        raise UnusableSource(
            f"the configuration of AWS tools cannot be used: a helper such as credential_process does not answer as "
            f"one does ({error})"
        ) from error
    if credentials is None and not access.is_anonymous:
        raise UnusableSource(
            "no credentials for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a --profile, "
            "or give --anonymous for a public bucket"
        )
    return StoreSession(
        region=region,
        endpoint_url=endpoint_url,
        get_key=None if credentials is None else KeySource(credentials, (*errors, *_MALFORMED, *_EXPIRED)),
        pays=access.pays,
        **_find_sums(endpoint_url, profile),
    )


def _open_from_environment(access: StoreAccess) -> StoreSession | None:
    """Return the access that environment variables alone name, as botocore reads them; ``None`` if more counts.

    To load botocore takes a fifth of a second, longer than many copies.
    """
    known = os.environ
    key, secret = known.get("AWS_ACCESS_KEY_ID"), known.get("AWS_SECRET_ACCESS_KEY")
    has_more = access.profile is not None or access.is_anonymous or any(known.get(name) for name in _MORE_VARIABLES)
    if not (key and secret) or has_more or any(map(_has_content, _list_files())):
        return None
    token = known.get("AWS_SESSION_TOKEN", "").rstrip(_LINE_END)
    named = AccessKey(key.rstrip(_LINE_END), secret.rstrip(_LINE_END), token or None)
    endpoint_url = access.endpoint_url or _find_endpoint_variable({})
    return StoreSession(
        region=access.region or known.get("AWS_DEFAULT_REGION") or _USUAL_REGION,
        endpoint_url=endpoint_url,
        get_key=lambda: named,
        pays=access.pays,
        **_find_sums(endpoint_url, {}),
    )


def _find_sums(endpoint_url: str | None, profile: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether a session sends sums, and whether it requests them: not where the user or the store has none."""
    host = urlsplit(endpoint_url or "").hostname or ""
    takes_sums = not host.endswith(_WITHOUT_SUMS)
    return {
        "sends_sums": takes_sums and not _is_limited("request_checksum_calculation", profile),
        "requests_sums": takes_sums and not _is_limited("response_checksum_validation", profile),
    }


def _is_limited(name: str, profile: Mapping[str, Any]) -> bool:
    """Return whether the configuration has sums only where a request requires one."""
    value = os.environ.get(f"AWS_{name.upper()}") or profile.get(name)
    return str(value).lower() == "when_required"


def _list_files() -> list[Path]:
    """Return where the configuration of AWS tools may be."""
    names = {"AWS_CONFIG_FILE": "~/.aws/config", "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials"}
    return [Path(os.environ.get(variable) or usual).expanduser() for variable, usual in names.items()]


def _has_content(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError:
        return True  # botocore says what is wrong with it


def _open_botocore(access: StoreAccess) -> tuple[tuple[type[Exception], ...], Any]:
    """Return botocore's base classes of errors, and a session of it."""
    try:
        session_module, exceptions = import_module("botocore.session"), import_module("botocore.exceptions")
    except ImportError as missing:
        raise LibraryMissing(
            f"{missing.name or 'botocore'} is not installed; run `pip install 'tradewind-agent[s3]'`"
        ) from missing
    return (exceptions.BotoCoreError, exceptions.ClientError), session_module.Session(profile=access.profile)


def _find_endpoint_url(session: Any, profile: Mapping[str, Any]) -> str | None:
    """Return the endpoint that the environment or the profile names, for S3 before that for all services."""
    if _ignores_endpoints(profile):
        return None
    if (endpoint_url := _find_endpoint_variable(profile)) is not None:
        return endpoint_url
    services = session.full_config.get("services", {}).get(profile.get("services"), {})
    of_s3 = services.get("s3", {})
    if not isinstance(of_s3, Mapping):
        raise UnusableSource(
            f"the configuration of AWS tools cannot be used: s3 of its services {profile.get('services')} is no section"
        )
    return of_s3.get("endpoint_url") or profile.get("endpoint_url")


def _find_endpoint_variable(profile: Mapping[str, Any]) -> str | None:
    """Return the endpoint that the environment names, unless the user has such endpoints ignored."""
    named = (os.environ.get(name) for name in _ENDPOINT_VARIABLES)
    return None if _ignores_endpoints(profile) else next(filter(None, named), None)


def _ignores_endpoints(profile: Mapping[str, Any]) -> bool:
    value = os.environ.get(_IGNORING_VARIABLE) or profile.get("ignore_configured_endpoint_urls")
    return str(value).lower() == "true"
