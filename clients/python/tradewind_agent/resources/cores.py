"""Processor cores: a process is bound to some CPUs, and a part of one is held by a quota of time."""

import math
import os
from collections import Counter
from collections.abc import Iterable

from tradewind_agent.errors import ResourceRefused
from tradewind_agent.resources.applied import Advice, Enforced, Verdict
from tradewind_agent.resources.control_groups import ControlGroups, Group
from tradewind_agent.resources.ledger import AffinityClaim
from tradewind_agent.resources.processes import identify, list_threads
from tradewind_agent.resources.target import Target
from tradewind_agent.system_errors import explain_os_error

PERIOD_US = 100_000
"""Of the quota: the kernel's default (sched-bwc)."""


def limit_cores(cores: float, target: Target, groups: ControlGroups) -> tuple[Verdict, ...]:
    """Bind the target to as many CPUs as ``cores`` rounded up; a fraction, or a binding refused, takes a quota.

    Every user may bind their own processes. The CPUs taken are those that fewest other transfers are bound to.
    """
    try:
        before = _list_unbound(target)
    except OSError as refusal:
        return (Advice("cores", cores, f"the process cannot be looked at: {explain_os_error(refusal).what}"),)
    if cores >= len(before):
        return (Enforced("cores", float(len(before)), f"the process has no more than {_format_cpus(before)} anyway"),)
    given, is_exact = _choose_least_taken(before, math.ceil(cores), target), cores.is_integer()
    try:
        _bind(before, given, target)
    except OSError as refusal:
        return _enforce_quota(
            cores, target, groups, otherwise=f"binding to CPUs failed: {explain_os_error(refusal).what}"
        )
    bound = Enforced("cores", float(len(given)), f"bound to {_format_cpus(given)}")
    if is_exact:
        return (bound,)
    return (*([bound] if len(given) < len(before) else []), *_enforce_quota(cores, target, groups, otherwise=""))


def _enforce_quota(cores: float, target: Target, groups: ControlGroups, *, otherwise: str) -> tuple[Verdict, ...]:
    def write(group: Group) -> None:
        quota_us = max(round(cores * PERIOD_US), 1000)  # the kernel takes no quota below 1 ms
        if group.unified:
            target.files.write(group.folder / "cpu.max", f"{quota_us} {PERIOD_US}")
        else:
            target.files.write(group.folder / "cpu.cfs_period_us", str(PERIOD_US))
            target.files.write(group.folder / "cpu.cfs_quota_us", str(quota_us))

    try:
        group = groups.limit("cpu", write)
    except ResourceRefused as refusal:
        return (Advice("cores", cores, "; ".join(filter(None, (otherwise, str(refusal))))),)
    return (Enforced("cores", cores, f"a quota of processor time in {group.folder}"),)


def _choose_least_taken(cpus: Iterable[int], count: int, target: Target) -> tuple[int, ...]:
    taken = Counter(
        cpu for other in target.ledger.list_others(target.entry) if other.affinity for cpu in other.affinity.given
    )
    return tuple(sorted(sorted(cpus, key=lambda cpu: (taken[cpu], cpu))[:count]))


def _list_other_claims(target: Target) -> list[AffinityClaim]:
    """Return the bindings of the same process by other transfers; the narrowest of all applies."""
    others = target.ledger.list_others(target.entry)
    return [other.affinity for other in others if other.target == target.entry.target and other.affinity is not None]


def _list_unbound(target: Target) -> tuple[int, ...]:
    """Return the CPUs of the process as if no transfer had bound it."""
    claims = _list_other_claims(target)
    return claims[0].before if claims else tuple(sorted(os.sched_getaffinity(target.pid)))


def _bind(before: tuple[int, ...], given: tuple[int, ...], target: Target) -> None:
    if given == before:
        return
    target.entry.affinity = AffinityClaim(before, given)
    target.ledger.save(target.entry)
    try:
        _set_affinity(min([given, *(each.given for each in _list_other_claims(target))], key=len), target)
    except OSError:
        unbind(target)
        raise


def _set_affinity(cpus: tuple[int, ...], target: Target) -> None:
    for pid in target.pids:
        for thread in list_threads(pid, target.host.proc):
            try:
                os.sched_setaffinity(thread, cpus)
            except ProcessLookupError:
                continue  # it ended since it was listed


def unbind(target: Target) -> str | None:
    """Return the target's processes to their previous CPUs, or to those of another transfer's binding.

    Return the reason if that fails.
    """
    claim = target.entry.affinity
    if claim is not None and identify(target.pid, target.host.proc) == target.entry.target:
        try:
            _set_affinity(
                min((each.given for each in _list_other_claims(target)), key=len, default=claim.before), target
            )
        except OSError as failure:
            return f"process {target.pid} could not be given its CPUs back: {explain_os_error(failure).what}"
    target.entry.affinity = None
    target.ledger.save(target.entry)
    return None


def _format_cpus(cpus: tuple[int, ...]) -> str:
    return f"CPU {cpus[0]}" if len(cpus) == 1 else f"CPUs {', '.join(map(str, cpus))}"
