"""Files as drawn: one or two versions, their validators, and what a copy knows of them before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Self

from tradewind_agent.engine import DownloadJob, Url
from tradewind_agent.engine.jobs import SizeTrust
from tradewind_agent.engine.local.checksums import Checksum

OLD, NEW, DATE = "Sat, 01 Jan 2022 00:00:00 GMT", "Tue, 01 Mar 2022 12:00:00 GMT", "Fri, 01 Apr 2022 00:00:00 GMT"
LONGEST_BYTES = 900_000


class Validators(Enum):
    STRONG = "a strong ETag"
    WEAK = "a weak ETag"
    TIME = "a time of modification"
    BOTH = "a strong ETag and a time"
    MOODY = "an ETag that differs from answer to answer"
    NONE = "nothing"


@dataclass(frozen=True, slots=True)
class Version:
    """Content with the header fields that name it."""

    content: bytes
    fields: Mapping[str, str]

    @property
    def validators(self) -> Sequence[str]:
        return [self.fields[name] for name in ("ETag", "Last-Modified") if name in self.fields]


@dataclass
class ServedFile:
    """A file of a server. After ``changes_at`` requests it is the second of its ``contents``.

    ``is_size_known`` : a copy knows the exact size before. ``is_gone`` : the server refuses it.
    """

    name: str
    contents: Sequence[bytes]
    validators: Validators
    changes_at: int
    is_gone: bool
    trust: SizeTrust
    is_size_known: bool
    is_sum_known: bool
    requests: int = 0

    @classmethod
    def draw(cls, name: str, draw: Random, usual_bytes: int | None) -> Self:
        """Draw a file; of ``usual_bytes``, if any, as most others of its server."""
        size = draw.choice([0, 1, draw.randrange(3_000), draw.randrange(3_000), draw.randrange(LONGEST_BYTES)])
        if usual_bytes is not None and draw.random() < 0.8:
            size = usual_bytes
        contents = [draw.randbytes(size)]
        if draw.random() < 0.2:
            contents.append(draw.randbytes(draw.choice([size, draw.randrange(3_000)])))
        trust = draw.choice([SizeTrust.LISTED, SizeTrust.LISTED, SizeTrust.BINDING, SizeTrust.ROUNDED])
        return cls(
            name=name,
            contents=contents,
            validators=draw.choice(list(Validators)),
            changes_at=draw.randrange(4) if len(contents) > 1 else 0,
            is_gone=draw.random() < 0.05,
            trust=trust,
            is_size_known=trust is not SizeTrust.ROUNDED and draw.random() < 0.8,
            is_sum_known=draw.random() < 0.1,
        )

    @property
    def is_constant(self) -> bool:
        """Return whether it can be fetched as the copy knows it."""
        return len(self.contents) == 1 and not self.is_gone

    def get_version(self, draw: Random) -> Version:
        """Return the version that this request meets, and count it."""
        number = int(len(self.contents) > 1 and self.requests >= self.changes_at)
        self.requests += 1
        return Version(self.contents[number], self._name_version(number, draw))

    def _name_version(self, number: int, draw: Random) -> Mapping[str, str]:
        tag, modified = f"{self.name}-{number}", (OLD, NEW)[number]
        match self.validators:
            case Validators.STRONG:
                return {"ETag": f'"{tag}"', "Date": DATE}
            case Validators.WEAK:
                return {"ETag": f'W/"{tag}"', "Date": DATE}
            case Validators.TIME:
                return {"Last-Modified": modified, "Date": DATE}
            case Validators.BOTH:
                return {"ETag": f'"{tag}"', "Last-Modified": modified, "Date": DATE}
            case Validators.MOODY:
                return {"ETag": f'"{tag}-{draw.random()}"', "Date": DATE}
            case Validators.NONE:
                return {}

    def make_job(self, server: str, folder: Path) -> DownloadJob:
        """Return the job that fetches it, with what a listing or a manifest says of its first version."""
        size = len(self.contents[0])
        known = size if self.is_size_known else size + size // 20 if self.trust is SizeTrust.ROUNDED else None
        return DownloadJob(
            source=Url.parse(f"http://{server}/{self.name}"),
            destination=str(folder / self.name),
            size_bytes=known,
            size_trust=self.trust if known is not None else SizeTrust.LISTED,
            least_bytes=size * 9 // 10 if self.trust is SizeTrust.ROUNDED else 0,
            checksum=Checksum("sha256", sha256(self.contents[0]).digest()) if self.is_sum_known else None,
        )
