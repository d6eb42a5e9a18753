"""How long a transfer takes: raw, packed before it is sent, or packed while it is sent.

Three stages: the sender packs (T.C), the path carries (T.X), the receiver unpacks (T.D). In sequence they add up. Piped
in n blocks they overlap: the slowest stage works all the time, the others only while the pipe fills and empties, which
is one block each: T = T.SC + max(T.C, T.X, T.D) + (T.C + T.X + T.D − max)/n. That is exact for equal blocks, and it
never promises more than any stage delivers.

Source: the paper's section IV, whose equations 19 to 22 approximate the overlap; see `tradewind.compression.printed`.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tradewind.units import BITS_PER_BYTE, KIB, MIB

MIN_BLOCK_BYTES = 256 * KIB
MAX_BLOCK_BYTES = 4 * MIB
TARGET_BLOCKS = 8
"""A pipe of fewer blocks hardly overlaps; smaller blocks pack worse."""


MIN_RATIO, MAX_RATIO = 1e-3, 1e6
MIN_CODEC_BPS, MAX_CODEC_BPS = 1.0, 1e15
"""Between which `Speeds` are; beyond them is no content and no machine."""


class Mode(StrEnum):
    RAW = "raw"
    SEQUENTIAL = "sequential"
    PIPED = "piped"


class Speeds(NamedTuple):
    """Ratio and speeds of a codec on some content and machines.

    ``ratio`` : uncompressed over compressed size. ``compress_bps``, ``decompress_bps`` : plain bits a second.
    """

    ratio: float
    compress_bps: float
    decompress_bps: float

    @property
    def is_possible(self) -> bool:
        """Return whether ratio and speeds are plausible."""
        rates = self.compress_bps, self.decompress_bps
        return MIN_RATIO < self.ratio < MAX_RATIO and all(MIN_CODEC_BPS < rate < MAX_CODEC_BPS for rate in rates)


@dataclass(frozen=True, slots=True)
class NetworkLine:
    """A path: its rate for a long file (Th.UP or Th.DW), bit/s, and the start-up time of any transfer (T.SC), s."""

    rate_bps: float
    setup_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Stages:
    """Time of each stage for the entire file, s."""

    compress_s: float
    send_s: float
    decompress_s: float

    @property
    def together_s(self) -> float:
        return self.compress_s + self.send_s + self.decompress_s

    @property
    def slowest_s(self) -> float:
        return max(self.compress_s, self.send_s, self.decompress_s)


def compute_block_bytes(file_bytes: int) -> int:
    """Return the size of the blocks that a file is packed in."""
    return min(max(math.ceil(file_bytes / TARGET_BLOCKS), MIN_BLOCK_BYTES), MAX_BLOCK_BYTES)


def compute_stage_times(file_bytes: int, line: NetworkLine, speeds: Speeds) -> Stages:
    bits = BITS_PER_BYTE * file_bytes
    return Stages(
        bits / speeds.compress_bps,
        bits / (speeds.ratio * line.rate_bps),
        bits / speeds.decompress_bps,
    )


def compute_raw_s(file_bytes: int, line: NetworkLine) -> float:
    """Return the duration without a codec, s."""
    return line.setup_s + BITS_PER_BYTE * file_bytes / line.rate_bps


def compute_sequential_s(file_bytes: int, line: NetworkLine, speeds: Speeds) -> float:
    """Return the duration where each stage waits for the one before, s."""
    return line.setup_s + compute_stage_times(file_bytes, line, speeds).together_s


def compute_piped_s(file_bytes: int, line: NetworkLine, speeds: Speeds) -> float:
    """Return the duration where the stages work at the same time, s."""
    each = compute_stage_times(file_bytes, line, speeds)
    blocks = max(math.ceil(file_bytes / compute_block_bytes(file_bytes)), 1)
    return line.setup_s + each.slowest_s + (each.together_s - each.slowest_s) / blocks


def compute_duration_s(mode: Mode, file_bytes: int, line: NetworkLine, speeds: Speeds | None) -> float:
    """Return the duration of a transfer in a mode, s; the raw mode needs no ``speeds``."""
    if mode is Mode.RAW or speeds is None:
        return compute_raw_s(file_bytes, line)
    return (
        compute_piped_s(file_bytes, line, speeds)
        if mode is Mode.PIPED
        else compute_sequential_s(file_bytes, line, speeds)
    )


def is_worthwhile_for_long_files(line_bps: float, speeds: Speeds) -> bool:
    """Return whether packing gains once start-up and filling of the pipe no longer count (section IV-A)."""
    return min(speeds.compress_bps, speeds.decompress_bps, speeds.ratio * line_bps) > line_bps
