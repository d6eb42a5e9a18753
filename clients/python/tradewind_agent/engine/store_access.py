"""How a user reaches object stores."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAccess:
    """The access to object stores; what is left out is as the user's configuration has it.

    ``endpoint_url`` : address of a store that is not AWS's own.
    ``profile`` : name of a profile in the user's configuration of AWS tools.
    ``is_anonymous`` : send requests without a signature.
    ``pays`` : agree to pay for requests to buckets of others.
    """

    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None
    is_anonymous: bool = False
    pays: bool = False


USUAL_ACCESS = StoreAccess()
