"""What a listing leaves out, and what of it the user has agreed to leave out."""

from dataclasses import dataclass
from enum import Enum

from tradewind_agent.engine.remote.path_selection import SELECT_ALL, PathSelection
from tradewind_agent.errors import UnusableSource


class OmissionKind(Enum):
    """Why something that was named is not among the files to copy."""

    LINK = "a symbolic link, or a folder that leads back to one above it"
    UNREADABLE = "a file or folder that cannot be read"
    NOT_A_FILE = "a pipe, a device, or a link that names no file of the folder"


@dataclass(frozen=True, slots=True)
class Omission:
    """Something that a source holds and a copy does not move.

    ``place`` : its address or path.
    ``reason`` : why, and what to do, as the end of a sentence that begins with the place.
    """

    place: str
    reason: str
    kind: OmissionKind


def make_name_omission(place: object, error: UnusableSource) -> Omission:
    """Return the omission of an entry whose name cannot be a file's here."""
    return Omission(str(place), f"cannot be stored under its name ({error})", OmissionKind.NOT_A_FILE)


class LinkRule(Enum):
    """What to do with symbolic links below a folder that is uploaded."""

    REPORT = "leave them out and let the copy fail in the end"
    FOLLOW = "send what they point to"
    SKIP = "leave them out"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingRules:
    """What the user has said about what to copy, and about things that cannot simply be copied.

    ``selection`` : the files to copy; others are excluded, which is no omission.
    ``links`` : see `LinkRule`.
    ``skip_unreadable`` : leave out what cannot be read without letting the copy fail.
    ``delete`` : remove at the destination what the source does not have.
    """

    selection: PathSelection = SELECT_ALL
    links: LinkRule = LinkRule.REPORT
    skip_unreadable: bool = False
    delete: bool = False

    def is_accepted(self, omission: Omission) -> bool:
        """Return whether the user has agreed to leave this out."""
        if omission.kind is OmissionKind.LINK:
            return self.links is LinkRule.SKIP
        return omission.kind is OmissionKind.UNREADABLE and self.skip_unreadable


REPORT_ALL = ListingRules()
