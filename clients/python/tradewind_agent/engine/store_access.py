"""How a user reaches object stores."""

from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAccess:
    """The access to object stores; what is left out is as the user's configuration has it.

    ``endpoint_url`` : address of a store that is not AWS's own.
    ``profile`` : name of a profile in the user's configuration of AWS tools.
    ``is_anonymous`` : send requests without a signature.
    ``pays`` : agree to pay for requests to buckets of others.
    ``notes_folder`` : where the ids of unfinished uploads are noted; ``None`` notes none.
    """

    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None
    is_anonymous: bool = False
    pays: bool = False
    notes_folder: Path | None = None

    @property
    def is_usual(self) -> bool:
        """Return whether the user's configuration alone says how stores are reached."""
        return replace(self, notes_folder=None) == USUAL_ACCESS


USUAL_ACCESS = StoreAccess()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectProperties:
    """What an object store is to know of the objects that are sent.

    ``storage_class`` : as the store names it; ``None`` for the usual one.
    ``content_type`` : of all files; ``None`` guesses it from each name.
    ``metadata`` : values by key in lower case.
    """

    storage_class: str | None = None
    content_type: str | None = None
    metadata: tuple[tuple[str, str], ...] = ()

    @property
    def is_usual(self) -> bool:
        return self == USUAL_PROPERTIES


USUAL_PROPERTIES = ObjectProperties()
