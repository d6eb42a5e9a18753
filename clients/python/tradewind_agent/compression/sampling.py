"""A few blocks of a file, what a codec makes of them here, and how the rest of the file differs."""

import math
import os
import platform
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import SystemRandom
from zlib import crc32

from tradewind.compression.advice import DEFAULT_LINE_BPS
from tradewind.compression.codecs import PROBE, CodecSetting
from tradewind.compression.content import (
    SAMPLE_BLOCK_BYTES,
    SAMPLE_BLOCKS,
    Content,
    Kind,
    inspect_content,
    list_sample_offsets,
)
from tradewind.compression.history import MAX_CORES, parse_core_count
from tradewind.compression.model import Speeds
from tradewind.units import BITS_PER_BYTE, KIB
from tradewind_agent.compression.codecs import load_codec, pack, unpack
from tradewind_agent.compression.cores import count_usable_cores
from tradewind_agent.engine.local.regular_file import open_regular_file

SHORTEST_S = 1e-6
"""Resolution below which a duration says nothing of a speed."""

BEGINNING_BYTES = 128 * KIB
"""Of a file that was fetched, by which this end's speed of unpacking is judged."""

LOOK_SHARE = 0.02
"""Share of the time of the file that is spent on probing more of it than settings are tried on.

That of the file as the probe packs it: the better it packs, the sooner it is over.
"""

PIECE_BYTES, MOST_PIECES = 128 * KIB, 128
"""Size and largest number of additional probed pieces."""

REPEATS = 2
"""The quicker of so many: other work of the machine only ever slows."""

_CPU_CLASS = re.compile(r"[a-z0-9][a-z0-9_.\-/]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSample:
    """Measurements of a few blocks of a file, and the class of the machine that took them.

    Attributes
    ----------
    probe : what gzip -1 makes of all that was looked at, on one core of a ``cpu_class``.
    blocks : that settings are tried on, the file's beginning first; none of a sample that was taken elsewhere.
    beyond_blocks : the probe's ratio over that of the blocks alone.
    """

    file_bytes: int
    content: Content
    probe: Speeds
    cpu_class: str
    blocks: Sequence[bytes] = ()
    beyond_blocks: float = 1.0

    @property
    def sampled_bytes(self) -> int:
        """Return those that settings are tried on, here or elsewhere."""
        return min(self.file_bytes, SAMPLE_BLOCKS * SAMPLE_BLOCK_BYTES)

    def format(self) -> str:
        """For the other end, as a field of a message."""
        values = (self.content.entropy_bits_per_byte, *self.probe)
        return ";".join([self.cpu_class, self.content.kind, *(f"{value:.6g}" for value in values)])

    @classmethod
    def parse(cls, text: str, file_bytes: int) -> "FileSample | None":
        """Parse the sample of the other end; ``None`` where it is invalid."""
        try:
            machine, kind, *values = text.split(";")
            entropy, ratio, compress_bps, decompress_bps = map(float, values)
            content, probe = Content(Kind(kind), entropy), Speeds(ratio, compress_bps, decompress_bps)
        except ValueError:
            return None
        is_machine = _CPU_CLASS.fullmatch(machine) and parse_core_count(machine) <= MAX_CORES
        sound = is_machine and probe.is_possible and 0 <= entropy <= 8
        return cls(file_bytes=file_bytes, content=content, probe=probe, cpu_class=machine) if sound else None


Places = Callable[[], Sequence[float]]


def pick_random_places() -> Sequence[float]:
    """Return where in each part of a file to look, so that a file that deceived a sample once does not every time."""
    lot = SystemRandom()
    return [lot.random() for _ in range(SAMPLE_BLOCKS - 1)]


def sample_file(
    path: Path,
    line_bps: float | None = None,
    clock_s: Callable[[], float] = time.perf_counter,
    places: Places = pick_random_places,
) -> FileSample:
    """Read a few blocks of ``path`` and pack them by the probe; more of it the longer it takes at ``line_bps``.

    Raises
    ------
    OSError : it cannot be read.
    """
    with os.fdopen(open_regular_file(path), "rb") as source:
        return sample_descriptor(source.fileno(), line_bps, clock_s, places)


def sample_descriptor(
    descriptor: int,
    line_bps: float | None = None,
    clock_s: Callable[[], float] = time.perf_counter,
    places: Places = pick_random_places,
) -> FileSample:
    """Return the same of an open file."""
    file_bytes = os.fstat(descriptor).st_size
    blocks = [os.pread(descriptor, SAMPLE_BLOCK_BYTES, offset) for offset in list_sample_offsets(file_bytes, places())]
    look_s = LOOK_SHARE * BITS_PER_BYTE * file_bytes / (line_bps or DEFAULT_LINE_BPS)
    probe = measure_setting(blocks, PROBE, clock_s, worth_s=look_s) if any(blocks) else Speeds(1.0, 1e9, 1e9)
    look_s /= max(probe.ratio, 1.0)
    pieces = choose_pieces(file_bytes, look_s * probe.compress_bps / BITS_PER_BYTE)
    ratio = _measure_ratio([os.pread(descriptor, size, offset) for offset, size in pieces]) if pieces else probe.ratio
    return FileSample(
        file_bytes=file_bytes,
        blocks=tuple(blocks),
        content=inspect_content(blocks),
        probe=probe._replace(ratio=ratio),
        cpu_class=read_cpu_class(),
        beyond_blocks=ratio / probe.ratio,
    )


def choose_pieces(file_bytes: int, look_bytes: float) -> Sequence[tuple[int, int]]:
    """Return the offsets and sizes of so much of a file, evenly spread; none where it is no more than what is tried.

    That a file of programs packs unevenly is most of what a sample errs by: of 12 MB of them the ratio of six blocks
    had a spread of 0.09 to 0.18 in its logarithm. By how much another codec's differs hardly depends on where in a file
    both are tried.
    """
    look_bytes = min(look_bytes, file_bytes)
    pieces = min(math.ceil(look_bytes / PIECE_BYTES), MOST_PIECES)
    if look_bytes < 2 * SAMPLE_BLOCKS * SAMPLE_BLOCK_BYTES:
        return ()
    if pieces * PIECE_BYTES >= file_bytes:
        return ((0, file_bytes),)
    part = file_bytes / pieces
    return tuple((int((number + 0.5) * part) - PIECE_BYTES // 2, PIECE_BYTES) for number in range(pieces))


def _measure_ratio(pieces: Sequence[bytes]) -> float:
    plain = b"".join(pieces)
    return len(plain) / len(pack(plain, PROBE)) if plain else 1.0


def measure_setting(
    blocks: Sequence[bytes],
    setting: CodecSetting,
    clock_s: Callable[[], float] = time.perf_counter,
    *,
    repeats: int = REPEATS,
    worth_s: float = math.inf,
) -> Speeds:
    """Return what ``setting`` makes of blocks one after the other, with the sums that each end takes of plain bytes.

    ``worth_s`` : once it has taken longer, it is not repeated.
    """
    load_codec(setting.codec)
    plain = b"".join(blocks)
    compress_s = decompress_s = float("inf")
    first_started_s = clock_s()
    for number in range(repeats):
        if number and clock_s() - first_started_s > worth_s:
            break
        started_s = clock_s()
        _compute_sums(plain)
        packed = pack(plain, setting)
        between_s = clock_s()
        _compute_sums(unpack(packed, setting.codec, len(plain)))
        compress_s = min(compress_s, between_s - started_s)
        decompress_s = min(decompress_s, clock_s() - between_s)
    bits = BITS_PER_BYTE * len(plain)
    return Speeds(
        len(plain) / max(len(packed), 1), bits / max(compress_s, SHORTEST_S), bits / max(decompress_s, SHORTEST_S)
    )


def _compute_sums(plain: bytes) -> None:
    """Compute the sums that `PackedFile` and `Unpacker` take of each block and of the file."""
    crc32(plain)
    sha256(plain)


def read_cpu_class() -> str:
    """Return how histories call this machine: architecture, model, cores that this process may use."""
    return f"{_to_word(platform.machine())}/{_to_word(_read_cpu_model())}/{count_usable_cores()}"


def _read_cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    named = (line.partition(":")[2] for line in lines if line.startswith(("model name", "Model", "cpu model")))
    return next(named, "unknown")


def _to_word(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "unknown"
