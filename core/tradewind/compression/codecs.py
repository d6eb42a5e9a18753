"""The codecs that a transfer may be packed with, and their levels."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from tradewind.errors import InvalidValue


class Codec(StrEnum):
    GZIP = "gzip"
    PIGZ = "pigz"
    BZIP2 = "bzip2"
    PBZIP2 = "pbzip2"
    XZ = "xz"
    LZOP = "lzop"
    ZSTD = "zstd"
    LZ4 = "lz4"
    BROTLI = "brotli"


class Setting(NamedTuple):
    """A codec at a level."""

    codec: Codec
    level: int

    def __str__(self) -> str:
        return f"{self.codec}:{self.level}"


@dataclass(frozen=True, slots=True)
class CodecFacts:
    """What a codec can be asked for.

    ``candidates`` : the levels worth comparing; those between differ by less than a prediction errs.
    ``side_by_side`` : packs blocks on several cores at once.
    """

    lowest: int
    highest: int
    usual: int
    candidates: tuple[int, ...]
    side_by_side: bool = True


FACTS: Mapping[Codec, CodecFacts] = MappingProxyType(
    {
        Codec.GZIP: CodecFacts(1, 9, 6, (1, 6, 9), side_by_side=False),
        Codec.PIGZ: CodecFacts(1, 9, 6, (1, 6, 9)),
        Codec.BZIP2: CodecFacts(1, 9, 9, (1, 9), side_by_side=False),
        Codec.PBZIP2: CodecFacts(1, 9, 9, (1, 9)),
        Codec.XZ: CodecFacts(0, 9, 6, (0, 1, 3, 6, 9)),
        Codec.LZOP: CodecFacts(1, 9, 3, (1, 3, 9)),
        Codec.ZSTD: CodecFacts(1, 19, 3, (1, 3, 6, 9, 12, 15, 19)),
        Codec.LZ4: CodecFacts(1, 12, 1, (1, 9)),
        Codec.BROTLI: CodecFacts(0, 11, 6, (1, 4, 6, 9, 11)),
    }
)
"""Levels of gzip, lzop, bzip2, xz, pigz and pbzip2: the paper's table I. The others: their own documentation."""

PROBE = Setting(Codec.GZIP, 1)
"""What a sample of any file is packed with: quick, everywhere, and what all history is relative to."""


_MOST_DIGITS = 2
"""Of any level; reading more takes time, and of some thousands is an error of another kind."""


def candidates(codecs: frozenset[Codec] | None = None) -> tuple[Setting, ...]:
    """Settings worth comparing, of these codecs alone where they are given."""
    chosen = [codec for codec in Codec if codecs is None or codec in codecs]
    return tuple(Setting(codec, level) for codec in chosen for level in FACTS[codec].candidates)


def parse_setting(text: str) -> Setting:
    """``zstd``, ``zstd:6`` or ``xz:0``; without a level the codec's usual one.

    Raises
    ------
    InvalidValue : no such codec, or no such level of it.
    """
    name, colon, level_text = text.strip().lower().partition(":")
    if name not in set(Codec):
        raise InvalidValue("codec", f"{name!r} is unknown; one of {', '.join(Codec)}")
    codec = Codec(name)
    facts = FACTS[codec]
    if not colon:
        return Setting(codec, facts.usual)
    if (
        not level_text.isdecimal()
        or len(level_text) > _MOST_DIGITS
        or not facts.lowest <= int(level_text) <= facts.highest
    ):
        raise InvalidValue("codec", f"{codec} has levels {facts.lowest} to {facts.highest}, not {level_text[:20]!r}")
    return Setting(codec, int(level_text))
