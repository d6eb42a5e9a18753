"""A few blocks of a file, and what codecs make of them here."""

import os
import platform
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tradewind.compression.codecs import PROBE, Setting
from tradewind.compression.content import (
    SAMPLE_BLOCK_BYTES,
    Content,
    content_of,
    sample_offsets,
)
from tradewind.compression.model import Speeds
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.compression.codecs import pack, unpack
from tradewind_agent.compression.cores import usable_cores

SHORTEST_S = 1e-6
"""Resolution below which a duration says nothing of a speed."""

REPEATS = 2
"""The quicker of so many: other work of the machine only ever slows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """``blocks`` : of the file, its beginning first. ``probe`` : what gzip -1 makes of them on one core here."""

    file_bytes: int
    blocks: Sequence[bytes]
    content: Content
    probe: Speeds


def sample_file(path: Path, clock_s: Callable[[], float] = time.perf_counter) -> Sample:
    """Read a few blocks of ``path`` and pack them by the probe.

    Raises
    ------
    OSError : it cannot be read.
    """
    with path.open("rb") as source:
        return sample_descriptor(source.fileno(), clock_s)


def sample_descriptor(descriptor: int, clock_s: Callable[[], float] = time.perf_counter) -> Sample:
    """The same of an open file."""
    file_bytes = os.fstat(descriptor).st_size
    blocks = [os.pread(descriptor, SAMPLE_BLOCK_BYTES, offset) for offset in sample_offsets(file_bytes)]
    return Sample(
        file_bytes=file_bytes,
        blocks=blocks,
        content=content_of(blocks),
        probe=measured(blocks, PROBE, clock_s) if any(blocks) else Speeds(1.0, 1e9, 1e9),
    )


def measured(blocks: Sequence[bytes], setting: Setting, clock_s: Callable[[], float] = time.perf_counter) -> Speeds:
    """What ``setting`` makes of blocks one after the other."""
    plain = b"".join(blocks)
    compress_s = decompress_s = float("inf")
    for _ in range(REPEATS):
        begun_s = clock_s()
        packed = pack(plain, setting)
        between_s = clock_s()
        unpack(packed, setting.codec, len(plain))
        compress_s = min(compress_s, between_s - begun_s)
        decompress_s = min(decompress_s, clock_s() - between_s)
    bits = BITS_PER_BYTE * len(plain)
    return Speeds(
        len(plain) / max(len(packed), 1), bits / max(compress_s, SHORTEST_S), bits / max(decompress_s, SHORTEST_S)
    )


def cpu_class() -> str:
    """How histories call this machine: architecture, model, cores that this process may use."""
    return f"{_word(platform.machine())}/{_word(_model())}/{usable_cores()}"


def _model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    named = (line.partition(":")[2] for line in lines if line.startswith(("model name", "Model", "cpu model")))
    return next(named, "unknown")


def _word(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "unknown"
