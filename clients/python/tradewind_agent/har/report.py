"""Describe the connections of a page in a browser's log."""

from collections.abc import Iterator

from tradewind.connections.advice import MAX_ORIGINS, MAX_SERVERS
from tradewind.units import format_bytes, format_count
from tradewind.wire.connections import AnalysedPage, ConnectionAnalysis

LEAST_RTTS = 0.05
"""Round trips that FLD_TCP must save for a flow to be reported: less is rounded away."""

SHOWN_ADVICE = 8


def describe_analysis(analysis: ConnectionAnalysis) -> str:
    """Return a paragraph for each page."""
    return "\n\n".join("\n".join(_format_page(page)) for page in analysis.pages)


def _format_page(page: AnalysedPage) -> Iterator[str]:
    reused = f"{page.reused} on one that was open" if page.reused else "none on one that was open"
    yield (
        f"{page.name}: {format_count(page.objects, 'object')}, {format_bytes(page.wire_bytes)}, over "
        f"{format_count(len(page.connections), 'connection')} ({reused})"
    )
    ended = "" if page.load_told else " (to the last object; the log has no load event)"
    share = "" if page.idle_share is None else f" ({100 * page.idle_share:.0f} %)"
    idle = (
        "; the log does not say how long it was idle"
        if page.idle_s is None
        else f", {_format_seconds(page.idle_s)}{share} of it idle"
    )
    yield f"  loaded in {_format_seconds(page.load_s)}{ended}{idle}"
    if page.effective_concurrency is not None:
        yield f"  {page.effective_concurrency:.2f} connections received at once, in the mean of the rest"
    if page.encryption is not None:
        yield f"  connections: {page.encryption}; {_format_versions(page)}"
    lengths = page.lengths
    yield (
        f"  {lengths.first_window} fit in a first window, {lengths.short} are short (up to 2 MB), {lengths.long} longer"
    )
    gains = [each for each in lengths.short_flows if each.saved_rtts is not None and each.saved_rtts >= LEAST_RTTS]
    if gains:
        most = max(gains, key=lambda each: each.saved_s or 0.0)
        yield (
            f"  FLD_TCP would save {len(gains)} of them up to {most.saved_rtts:.1f} round trips "
            f"({_format_seconds(most.saved_s or 0.0)}), by the round model"
        )
    if any(kind != "none" for kind in page.caches):
        yield "  caches: " + ", ".join(f"{count} {kind}" for kind, count in sorted(page.caches.items()))
    for reason, count in page.left_out.items():
        yield f"  left out {format_count(count, 'entry', 'entries')}: {reason}"
    if page.untimed:
        yield f"  {format_count(page.untimed, 'object')} without times: idle time and concurrency do without"
    if page.unsized:
        yield f"  {format_count(page.unsized, 'object')} without a size"
    yield from _format_advice(page)


def _format_advice(page: AnalysedPage) -> Iterator[str]:
    if not page.objects:
        yield "  no advice: nothing came over the network"
    elif page.rtt_s is None and not page.advice:
        yield "  no advice: the log has no handshakes; give the round trip by --rtt"
    elif not page.advice:
        yield (
            "  no advice: by the round model nothing would be faster "
            f"(of the {MAX_ORIGINS} servers of a page with most bytes, and {MAX_SERVERS} of a log)"
        )
    for each in page.advice[:SHOWN_ADVICE]:
        yield f"  {each.origin}: {each.text}"
        yield (
            f"    saves {_format_seconds(each.saved_s)} of {_format_seconds(each.waiting_s)} waiting for it, "
            f"{each.saved_rtts:.1f} round trips, by the round model"
        )
    if len(page.advice) > SHOWN_ADVICE:
        more = format_count(len(page.advice) - SHOWN_ADVICE, "more piece", "more pieces")
        yield f"  and {more} of advice: see --json"


def _format_versions(page: AnalysedPage) -> str:
    counts: dict[str, int] = {}
    for each in page.connections:
        counts[each.http_version] = counts.get(each.http_version, 0) + 1
    return ", ".join(f"{count} by {version}" for version, count in sorted(counts.items()))


def _format_seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{1e3 * value:.3g} ms"
