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


class CodecSetting(NamedTuple):
    """A codec at a level."""

    codec: Codec
    level: int

    def __str__(self) -> str:
        return f"{self.codec}:{self.level}"


@dataclass(frozen=True, slots=True)
class CodecLevels:
    """The levels of a codec.

    ``candidates`` : the levels worth comparing; those between differ by less than a prediction errs.
    ``is_parallel`` : packs blocks on several cores at once.
    """

    min_level: int
    max_level: int
    default_level: int
    candidates: tuple[int, ...]
    is_parallel: bool = True


CODEC_LEVELS: Mapping[Codec, CodecLevels] = MappingProxyType(
    {
        Codec.GZIP: CodecLevels(1, 9, 6, (1, 6, 9), is_parallel=False),
        Codec.PIGZ: CodecLevels(1, 9, 6, (1, 6, 9)),
        Codec.BZIP2: CodecLevels(1, 9, 9, (1, 9), is_parallel=False),
        Codec.PBZIP2: CodecLevels(1, 9, 9, (1, 9)),
        Codec.XZ: CodecLevels(0, 9, 6, (0, 1, 3, 6, 9)),
        Codec.LZOP: CodecLevels(1, 9, 3, (1, 3, 9)),
        Codec.ZSTD: CodecLevels(1, 19, 3, (1, 3, 6, 9, 12, 15, 19)),
        Codec.LZ4: CodecLevels(1, 12, 1, (1, 9)),
        Codec.BROTLI: CodecLevels(0, 11, 6, (1, 4, 6, 9, 11)),
    }
)
"""Levels of gzip, lzop, bzip2, xz, pigz and pbzip2: the paper's table I. The others: their own documentation."""

PROBE = CodecSetting(Codec.GZIP, 1)
"""The setting that samples are packed with: fast, available everywhere, and the reference of all history."""


_MOST_DIGITS = 2
"""Digits of any level; more digits are rejected without being parsed."""


def list_candidate_settings(codecs: frozenset[Codec] | None = None) -> tuple[CodecSetting, ...]:
    """Return the settings worth comparing, limited to these codecs where they are given."""
    chosen = [codec for codec in Codec if codecs is None or codec in codecs]
    return tuple(CodecSetting(codec, level) for codec in chosen for level in CODEC_LEVELS[codec].candidates)


def parse_setting(text: str) -> CodecSetting:
    """Parse ``zstd``, ``zstd:6`` or ``xz:0``; without a level the codec's default one applies.

    Raises
    ------
    InvalidValue : no such codec, or no such level of it.
    """
    name, colon, level_text = text.strip().lower().partition(":")
    if name not in set(Codec):
        raise InvalidValue("codec", f"{name!r} is unknown; one of {', '.join(Codec)}")
    codec = Codec(name)
    facts = CODEC_LEVELS[codec]
    if not colon:
        return CodecSetting(codec, facts.default_level)
    if (
        not level_text.isdecimal()
        or len(level_text) > _MOST_DIGITS
        or not facts.min_level <= int(level_text) <= facts.max_level
    ):
        raise InvalidValue(
            "codec", f"{codec} has levels {facts.min_level} to {facts.max_level}, not {level_text[:20]!r}"
        )
    return CodecSetting(codec, int(level_text))
