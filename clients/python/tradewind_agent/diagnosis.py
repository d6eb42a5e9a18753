"""Find what prevents good transfers on this host: each finding has a state and, if that is bad, advice."""

import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from tradewind.energy.measured import EnergyQuality
from tradewind.units import MIB, format_bytes, format_count
from tradewind_agent.config import Service, build_config_file, find_service
from tradewind_agent.errors import KeyRefused, NotConfigured, ServiceProblem, ServiceUnreachable
from tradewind_agent.history.spool import Spool
from tradewind_agent.history.transfer_spool import TransferSpool
from tradewind_agent.meters import MeterChoice
from tradewind_agent.service.client import Client
from tradewind_agent.service.retries import BRIEF_RETRIES

LONGEST_SKEW_S = 5.0
"""Beyond this, load known from other transfers' times is attributed to the wrong moments of short ones."""

LEAST_BUFFER_BYTES = 16 * MIB
"""Largest window of one stream that fills 1 Gbit/s at 125 ms; Linux's default of 4–6 MB fills it to 40 ms."""

LEAST_FREE_BYTES = 512 * MIB

_TCP = Path("/proc/sys/net/ipv4")


class Health(StrEnum):
    GOOD = "good"
    NOTE = "note"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. ``advice`` is empty if all is well."""

    subject: str
    health: Health
    text: str
    advice: str = ""

    def format_line(self) -> str:
        advice = f"; {self.advice}" if self.advice else ""
        return f"{self.subject}: {self.text}{advice}"


def make_good_finding(subject: str, text: str) -> Finding:
    return Finding(subject, Health.GOOD, text)


def make_note_finding(subject: str, text: str, advice: str) -> Finding:
    return Finding(subject, Health.NOTE, text, advice)


def make_bad_finding(subject: str, text: str, advice: str) -> Finding:
    return Finding(subject, Health.BAD, text, advice)


def examine_service(environ: Mapping[str, str], now: Callable[[], datetime]) -> list[Finding]:
    """Check whether a service is configured, answers, agrees on the time, and accepts the key."""
    try:
        service = find_service(environ)
    except NotConfigured as wrong:
        return [make_bad_finding("service", str(wrong), "")]
    if service is None:
        advice = "run `tradewind login URL --key KEY` to get recommendations from history"
        return [
            make_note_finding("service", "none is configured; closed-form rules are used", advice),
            *examine_config(environ),
        ]
    with Client(service.url, service.key, retries=BRIEF_RETRIES) as client:
        return [*check_reachability(client, service, now), *examine_config(environ)]


def examine_config(environ: Mapping[str, str]) -> list[Finding]:
    """Check whether only the user can read the stored key."""
    path = build_config_file(environ)
    try:
        mode = path.stat().st_mode
    except OSError:
        return []
    if mode & 0o077:
        return [
            make_bad_finding("key file", f"{path} can be read by others", f"chmod 600 {path}, and ask for a new key")
        ]
    return [make_good_finding("key file", f"{path}, mode 0600")]


def check_reachability(client: Client, service: Service, now: Callable[[], datetime]) -> Iterable[Finding]:
    """Check whether the service answers and agrees on the time, and what the key permits."""
    started_s = time.perf_counter()
    try:
        service_time = client.healthy()
    except (ServiceUnreachable, ServiceProblem) as failure:
        yield make_bad_finding("service", str(failure), f"the address is from {service.origin}")
        return
    taken_s = time.perf_counter() - started_s
    yield make_good_finding("service", f"{service.url} answers in {1e3 * taken_s:.0f} ms")
    if service_time is not None:
        yield _check_skew((now() - service_time).total_seconds())
    yield _check_key(client)
    yield from _check_scopes(client)


def _check_skew(skew_s: float) -> Finding:
    """Check the clock's skew; the service's ``Date`` is cut to whole seconds, so half a second is the best guess."""
    off_s = skew_s - 0.5
    if abs(off_s) <= LONGEST_SKEW_S:
        return make_good_finding("clock", f"within {LONGEST_SKEW_S:.0f} s of the service's")
    direction = "ahead of" if off_s > 0 else "behind"
    return make_bad_finding(
        "clock", f"{abs(off_s):.0f} s {direction} the service's", "switch on NTP (timedatectl set-ntp true)"
    )


def _check_key(client: Client) -> Finding:
    try:
        client.inventory.endpoints()
    except KeyRefused as refused:
        return make_bad_finding("key", refused.detail, refused.advice)
    except (ServiceUnreachable, ServiceProblem) as failure:
        return make_note_finding("key", f"cannot be tried: {failure}", "try again later")
    return make_good_finding("key", "is valid")


def _check_scopes(client: Client) -> Iterable[Finding]:
    try:
        scopes = client.scopes()
    except (ServiceUnreachable, ServiceProblem):
        return  # the check of the key has reported it
    if "agent" in scopes:
        yield make_good_finding("scopes", ", ".join(scopes))
    else:
        advice = "ask for a key with the scope agent"
        yield make_bad_finding("scopes", f"{', '.join(scopes) or 'none'}: logs and recommendations need agent", advice)


def examine_tcp(kernel: Path = _TCP) -> list[Finding]:
    """Check whether one stream can fill a long path: limits of buffer tuning, and congestion control."""
    return [
        _check_buffer(kernel, "tcp_rmem", "receive buffer"),
        _check_buffer(kernel, "tcp_wmem", "send buffer"),
        _check_congestion_control(kernel),
    ]


def _check_buffer(kernel: Path, name: str, subject: str) -> Finding:
    try:
        most_bytes = int((kernel / name).read_text().split()[2])
    except (OSError, ValueError, IndexError) as failure:
        return make_note_finding(
            subject, f"cannot be read ({failure})", "this needs Linux; other systems tune their own buffers"
        )
    if most_bytes < LEAST_BUFFER_BYTES:
        advice = f"for long fast paths: sysctl -w net.ipv4.{name}='4096 131072 {LEAST_BUFFER_BYTES}'"
        return make_note_finding(subject, f"grows to {format_bytes(most_bytes)}", advice)
    return make_good_finding(subject, f"grows to {format_bytes(most_bytes)}")


def _check_congestion_control(kernel: Path) -> Finding:
    try:
        used = (kernel / "tcp_congestion_control").read_text().strip()
        available = (kernel / "tcp_available_congestion_control").read_text().split()
    except OSError as failure:
        return make_note_finding("congestion control", f"cannot be read ({failure})", "this needs Linux")
    return make_good_finding("congestion control", f"{used} (available: {', '.join(available)})")


def examine_meter(choice: MeterChoice) -> list[Finding]:
    """Report which meter is used, and why not a better one."""
    meter = choice.meter
    text = f"{meter.method} ({meter.quality}): {meter.description}"
    if choice.note is None and meter.quality is EnergyQuality.MEASURED:
        return [make_good_finding("meter", text)]
    reasons = "; ".join(f"no {method}: {reason}" for method, reason in choice.refusals)
    return [make_note_finding("meter", text, f"{reasons}; --power-profile states the power of this host")]


def examine_spool(spool: Spool) -> list[Finding]:
    """Check whether logs wait, were refused or were dropped, and how much room is left."""
    state = spool.read_state()
    ended = TransferSpool(spool)
    transfers, refused = len(ended.list_waiting()), len(ended.list_refused())
    findings = [
        make_good_finding(
            "spool", f"{state.segments} segments, {format_bytes(state.bytes)} of {format_bytes(state.max_bytes)}"
        )
    ]
    if state.segments or transfers:
        waiting = [f"{format_count(state.segments, 'segment')} to upload, {format_bytes(state.bytes)}"]
        if transfers:
            waiting.append(f"{format_count(transfers, 'ended transfer')} to report")
        findings = [make_note_finding("spool", "; ".join(waiting), "the next copy does it")]
    if state.refused_segments:
        text = f"{format_count(state.refused_segments, 'segment')} refused by the service"
        findings.append(make_bad_finding("refused logs", text, f"look at {spool.folder / 'refused'}, then remove them"))
    if refused:
        text = f"samples of {format_count(refused, 'transfer')} refused by the service"
        findings.append(
            make_bad_finding("refused samples", text, f"look at {ended.folder}/*.refused, then remove them")
        )
    if state.lost_segments:
        text = f"{format_bytes(state.lost_bytes)} of logs were given up when the spool was full"
        findings.append(
            make_bad_finding(
                "lost logs", text, f"reach the service more often; {spool.folder / 'lost.json'} counts them"
            )
        )
    return findings


def examine_disk(folders: Mapping[str, Path]) -> list[Finding]:
    """Check room and permission to write, for each folder by its role."""
    return [_check_disk(role, folder) for role, folder in folders.items()]


def _check_disk(role: str, folder: Path) -> Finding:
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not os.access(there, os.W_OK):
        return make_bad_finding(role, f"{there} cannot be written", "change its owner or choose another folder")
    free_bytes = shutil.disk_usage(there).free
    if free_bytes < LEAST_FREE_BYTES:
        return make_bad_finding(role, f"{format_bytes(free_bytes)} free on {there}", "make room")
    return make_good_finding(role, f"{format_bytes(free_bytes)} free on {there}")
