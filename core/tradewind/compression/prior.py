"""Expected ratios and speeds where a tenant has no history: measurements that are shipped with the package."""

from collections.abc import Mapping
from functools import cache

from tradewind.compression.codecs import Codec, CodecSetting
from tradewind.compression.content import SIZES_BYTES, Kind
from tradewind.compression.history import CodecObservation, CompressionCase, History
from tradewind.compression.model import Speeds
from tradewind.compression.prior_table import CPU_CLASS, PROBES, ROWS
from tradewind.units import MBIT

Row = tuple[float, float, float]

KIND_WITHOUT_ROW: Mapping[Kind, Kind] = {Kind.PACKED: Kind.BINARY}
"""Packed content packs like random bytes."""

_ON_ONE_CORE = CPU_CLASS.rpartition("/")[0] + "/1"


def build_typical_probe(kind: Kind) -> Speeds:
    """Return what gzip -1 achieves on content of this kind."""
    return _build_speeds(PROBES[KIND_WITHOUT_ROW.get(kind, kind)])


@cache
def load_packaged_history(without: Kind | None = None) -> History:
    """Load the measurements as a history, once; ``without`` leaves out a kind, to validate on it.

    They count for files of any size, which are packed in blocks like the measured one.
    """
    return History.of(
        CodecObservation(
            case=CompressionCase(
                file_bytes=file_bytes, kind=kind, cpu_class=_ON_ONE_CORE, probe=_build_speeds(PROBES[kind])
            ),
            setting=CodecSetting(Codec(codec), level),
            speeds=_build_speeds(row),
        )
        for (codec, level), rows in ROWS.items()
        for kind, row in rows.items()
        if kind != without
        for file_bytes in SIZES_BYTES
    )


def _build_speeds(row: Row) -> Speeds:
    ratio, compress_mbps, decompress_mbps = row
    return Speeds(ratio, compress_mbps * MBIT, decompress_mbps * MBIT)
