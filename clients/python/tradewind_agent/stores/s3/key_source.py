"""The access key that is good now: temporary ones are renewed in the background before they expire."""

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tradewind_agent.errors import UnusableSource

_TOO_LATE_S = 60.0
"""Time before the end of a key from which on requests wait for the next one."""

_PAUSE_S = 10.0
"""Time between two attempts to renew a key."""


@dataclass(frozen=True, slots=True)
class AccessKey:
    """What requests are signed with, which is never shown; ``token`` of keys that expire."""

    id: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


class KeySource:
    """Returns the key that is good now.

    To renew a key is a request to another server, and all transfers run in one thread: they must not wait for it.

    Parameters
    ----------
    credentials : botocore's, which know how they are renewed.
    errors : what botocore raises.
    """

    def __init__(self, credentials: Any, errors: tuple[type[Exception], ...]) -> None:
        self._credentials, self._errors = credentials, errors
        self._key: AccessKey | None = None
        self._renewed_at_s = float("-inf")

    def __call__(self) -> AccessKey:
        """Return the key.

        Raises
        ------
        UnusableSource : it has expired, and there is no other.
        """
        if self._key is not None and self._may_wait_for_next():
            if time.monotonic() - self._renewed_at_s >= _PAUSE_S:
                self._renewed_at_s = time.monotonic()
                threading.Thread(target=self._renew, daemon=True).start()
            return self._key
        try:
            frozen = self._credentials.get_frozen_credentials()
        except self._errors as error:
            raise UnusableSource(f"the credentials for the object store have expired: {error}") from error
        self._key = AccessKey(frozen.access_key, frozen.secret_key, frozen.token)
        return self._key

    def _may_wait_for_next(self) -> bool:
        """Return whether the key is to be renewed soon, but is good for a while."""
        needs_renewal = getattr(self._credentials, "refresh_needed", None)  # keys that do not expire have none
        return needs_renewal is not None and needs_renewal() and not needs_renewal(_TOO_LATE_S)

    def _renew(self) -> None:
        with suppress(*self._errors):  # a request meets the error once the key is too old
            self._credentials.get_frozen_credentials()
