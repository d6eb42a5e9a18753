"""Credentials, region and endpoint of an object store, found as the user's other tools find them."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tradewind_agent.engine.store_access import StoreAccess
from tradewind_agent.errors import LibraryMissing, UnusableSource
from tradewind_agent.stores.s3.key_source import AccessKey, KeySource

_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_USUAL_REGION = "us-east-1"
_MORE_VARIABLES = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_CREDENTIAL_EXPIRATION", "AWS_SECURITY_TOKEN")
"""Variables whose meaning is left to botocore."""


@dataclass(frozen=True, slots=True)
class StoreSession:
    """The access of one user to one store.

    ``endpoint_url`` : ``None`` for AWS itself.
    ``get_key`` : returns the key that is good now. ``None`` where nothing is signed.
    """

    region: str
    endpoint_url: str | None
    get_key: Callable[[], AccessKey] | None
    pays: bool

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
        endpoint_url = access.endpoint_url or _find_endpoint_url(session)
        credentials = None if access.is_anonymous else session.get_credentials()
    except errors as error:
        raise UnusableSource(f"the configuration of AWS tools cannot be used: {error}") from error
    if credentials is None and not access.is_anonymous:
        raise UnusableSource(
            "no credentials for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a --profile, "
            "or give --anonymous for a public bucket"
        )
    return StoreSession(
        region=region,
        endpoint_url=endpoint_url,
        get_key=None if credentials is None else KeySource(credentials, errors),
        pays=access.pays,
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
    named = AccessKey(key, secret, known.get("AWS_SESSION_TOKEN") or None)
    endpoints = (known.get(name) for name in _ENDPOINT_VARIABLES)
    return StoreSession(
        region=access.region or known.get("AWS_DEFAULT_REGION") or _USUAL_REGION,
        endpoint_url=access.endpoint_url or next(filter(None, endpoints), None),
        get_key=lambda: named,
        pays=access.pays,
    )


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


def _find_endpoint_url(session: Any) -> str | None:
    """Return the endpoint that the environment or the profile names, for S3 before that for all services."""
    for name in _ENDPOINT_VARIABLES:
        if os.environ.get(name):
            return os.environ[name]
    profile = session.get_scoped_config()
    services = session.full_config.get("services", {}).get(profile.get("services"), {})
    endpoint_url: str | None = services.get("s3", {}).get("endpoint_url") or profile.get("endpoint_url")
    return endpoint_url
