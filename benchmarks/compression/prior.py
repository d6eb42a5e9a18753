"""Measure on this machine the table of `tradewind.compression.prior_table`, and print that module.

python -m benchmarks.compression.prior > core/tradewind/compression/prior_table.py
"""

import platform
from datetime import UTC, datetime
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from benchmarks.compression.files import KINDS, make_content
from tradewind.compression.codecs import CODEC_LEVELS, PROBE, Codec, CodecSetting
from tradewind.compression.content import SAMPLE_BLOCK_BYTES, list_sample_offsets
from tradewind.compression.model import Speeds
from tradewind.units import KIB, MBIT, MIB
from tradewind_agent.compression.codecs import list_available_codecs
from tradewind_agent.compression.sampling import measure_setting, read_cpu_class

MEASURED_BYTES = MIB
SLOW_BYTES = MIB // 4
SLOW_FROM = {Codec.BROTLI: 9, Codec.ZSTD: 15}
"""Levels that would take minutes."""


def main() -> None:
    print(
        f'"""Ratio and speed of each codec by kind of content, for machines and content never seen.\n\n'
        f"Measured by `benchmarks.compression.prior` on {read_cpu_class()} ({platform.system()}),"
        f" {datetime.now(UTC):%Y-%m-%d}, on content that\n"
        f"`benchmarks.compression.files` makes, {MEASURED_BYTES // KIB} KiB of it, {SLOW_BYTES // KIB} KiB for slow"
        f' levels, one block on one core with its\nsums, by CPU time.\nGenerated: do not edit.\n"""\n'
    )
    print(f'CPU_CLASS = "{read_cpu_class()}"\n')
    contents = {name: make_content(name, MEASURED_BYTES) for name in KINDS}
    print("# Ratio, and plain Mbit/s of packing and unpacking: of gzip -1 on a sample, by kind.\nPROBES = {")
    for name, data in contents.items():
        blocks = [data[first : first + SAMPLE_BLOCK_BYTES] for first in list_sample_offsets(len(data))]
        print(f'    "{KINDS[name]}": {_format_row(measure_setting(blocks, PROBE, read_cpu_s))},')
    print("}\n\n# The same of each codec and level.\nROWS = {")
    for codec in Codec:
        if codec in list_available_codecs():
            for level in CODEC_LEVELS[codec].candidates:
                print(f'    ("{codec}", {level}): {{')
                for name, data in contents.items():
                    size = SLOW_BYTES if level >= SLOW_FROM.get(codec, 99) else MEASURED_BYTES
                    made = measure_setting([data[:size]], CodecSetting(codec, level), read_cpu_s)
                    print(f'        "{KINDS[name]}": {_format_row(made)},')
                print("    },", flush=True)
    print("}")


def read_cpu_s() -> float:
    """Return the CPU time of this process and of programs that it ran, s."""
    return sum(used.ru_utime + used.ru_stime for used in (getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)))


def _format_row(speeds: Speeds) -> str:
    return f"({speeds.ratio:.3f}, {speeds.compress_bps / MBIT:.1f}, {speeds.decompress_bps / MBIT:.1f})"


if __name__ == "__main__":
    main()
