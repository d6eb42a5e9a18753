"""Processor frequency: the cap of the CPUs that a process may use, where the kernel offers one (cpufreq).

A cap holds for a CPU and so for all who use it. Of several transfers on a CPU the lowest cap counts; the last to end
puts back what was there before the first.
"""

import math
from collections.abc import Iterable
from pathlib import Path

from tradewind_agent.errors import ResourceRefused
from tradewind_agent.resources.applied import Advice, Enforced, Verdict
from tradewind_agent.resources.host_files import ControlFiles, HostFolders
from tradewind_agent.resources.ledger import FrequencyClaim
from tradewind_agent.resources.target import Target
from tradewind_agent.system_errors import explain_os_error

_HZ_PER_KHZ = 1000
_CAP, _LOWEST, _HIGHEST = "scaling_max_freq", "cpuinfo_min_freq", "cpuinfo_max_freq"
_STEPS = "scaling_available_frequencies"
"""Of drivers with a few fixed frequencies, such as acpi-cpufreq; intel_pstate and amd-pstate take any between ends."""


class _ValueRefused(ResourceRefused):
    """Others of the processor's frequencies may be accepted."""


def list_frequencies_hz(cpus: Iterable[int], host: HostFolders, files: ControlFiles) -> tuple[float, ...]:
    """Return the lowest frequency of ``cpus``, one between, and the highest; none where they cannot be capped.

    Where the CPUs differ, as performance and efficiency cores do, only frequencies that all have are returned. A cap
    that somebody else has set is the highest.
    """
    lows, highs, steps = [], [], []
    for cpu in cpus:
        folder = host.cpus / f"cpu{cpu}" / "cpufreq"
        try:
            if not files.can_write(folder / _CAP):
                return ()
            lows.append(int(files.read(folder / _LOWEST)))
            highs.append(min(int(files.read(folder / _HIGHEST)), int(files.read(folder / _CAP))))
            if files.is_there(folder / _STEPS):
                steps.append({int(word) for word in files.read(folder / _STEPS).split()})
        except (OSError, ValueError):
            return ()
    if not lows or max(lows) >= min(highs):
        return ()
    low_khz, high_khz = max(lows), min(highs)
    between_khz = round(math.sqrt(low_khz * high_khz))
    if steps:
        common = sorted(khz for khz in set.intersection(*steps) if low_khz <= khz <= high_khz)
        if len(common) < 2:
            return ()
        low_khz, between_khz, high_khz = common[0], common[len(common) // 2], common[-1]
    return tuple(float(khz * _HZ_PER_KHZ) for khz in sorted({low_khz, between_khz, high_khz}))


def limit_frequency(frequency_hz: float, cpus: tuple[int, ...], target: Target) -> tuple[Verdict, ...]:
    """Cap the frequency of ``cpus``, all of them or none."""
    try:
        files = _list_caps(cpus, target)
        limit_khz = int(frequency_hz / _HZ_PER_KHZ)
        reached_khz = max(_set_cap(file, limit_khz, target) for file in files)
    except (OSError, ResourceRefused) as refusal:
        left = release_frequency(target)
        why = explain_os_error(refusal).what if isinstance(refusal, OSError) else str(refusal)
        reason = "; ".join((f"frequency cannot be capped: {why}", *left))
        return (Advice("frequency_hz", frequency_hz, reason, isinstance(refusal, _ValueRefused)),)
    how = f"the cap of {len(files)} frequency {'policy' if len(files) == 1 else 'policies'}, for all who use those CPUs"
    return (Enforced("frequency_hz", float(reached_khz * _HZ_PER_KHZ), how),)


def _list_caps(cpus: tuple[int, ...], target: Target) -> list[Path]:
    """Return the files to write; CPUs with a common policy share a file."""
    folders = {(target.host.cpus / f"cpu{cpu}" / "cpufreq").resolve() for cpu in cpus}
    if not all(target.files.is_there(folder / _CAP) for folder in folders):
        raise ResourceRefused("this kernel offers no frequency scaling")
    return [folder / _CAP for folder in sorted(folders)]


def _set_cap(file: Path, limit_khz: int, target: Target) -> int:
    """Set one cap and return the actual one, kHz."""
    files = target.files
    lowest_khz = int(files.read(file.parent / _LOWEST))
    if limit_khz < lowest_khz:
        raise _ValueRefused(f"the processor goes no lower than {lowest_khz / 1e6:g} GHz")
    now_khz = int(files.read(file))
    before_khz = next((claim.before_khz for claim in _list_others(file, target)), now_khz)
    target.entry.frequencies.append(FrequencyClaim(str(file), before_khz, limit_khz))
    target.ledger.save(target.entry)
    if limit_khz < now_khz:
        files.write(file, str(limit_khz))
    reached_khz = int(files.read(file))
    if reached_khz > limit_khz:
        raise _ValueRefused(f"the kernel keeps a cap of {reached_khz / 1e6:g} GHz")
    return reached_khz


def release_frequency(target: Target) -> tuple[str, ...]:
    """Raise the target's caps to those of other transfers, or to the previous value; return what failed."""
    wrong = []
    for claim in tuple(target.entry.frequencies):
        file = Path(claim.file)
        target_khz = min([claim.before_khz, *(other.limit_khz for other in _list_others(file, target))])
        try:
            if target.files.is_there(file) and int(target.files.read(file)) != target_khz:
                target.files.write(file, str(target_khz))
        except OSError as failure:
            wrong.append(f"{file} could not be set back to {claim.before_khz}: {explain_os_error(failure).what}")
            continue
        target.entry.frequencies.remove(claim)
    target.ledger.save(target.entry)
    return tuple(wrong)


def _list_others(file: Path, target: Target) -> list[FrequencyClaim]:
    return [
        claim
        for other in target.ledger.list_others(target.entry)
        for claim in other.frequencies
        if claim.file == str(file)
    ]
