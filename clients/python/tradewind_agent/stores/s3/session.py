"""Credentials, region and endpoint of an object store, found as the user's other tools find them."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from tradewind_agent.engine.store_access import StoreAccess
from tradewind_agent.errors import LibraryMissing, UnusableSource
from tradewind_agent.stores.s3.key_source import AccessKey, KeySource

_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_USUAL_REGION = "us-east-1"


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
