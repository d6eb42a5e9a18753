"""What a path costs any transfer and carries of a long one, found by sending, or fetching, three sizes."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from uuid import uuid4

import httpx

from tradewind.compression.codecs import Codec
from tradewind.compression.model import NetworkLine
from tradewind.compression.probe import MIN_SIZE_RATIO, FittedLine, TimedTransfer, fit_network_line
from tradewind.errors import InvalidValue
from tradewind.units import KIB, MIB
from tradewind_agent.compression.codecs import list_common_codecs
from tradewind_agent.compression.wire_names import CODECS_HEADER
from tradewind_agent.errors import CopyFailed

PROBE_SIZES_BYTES = (64 * KIB, 256 * KIB, MIB)
LEAST_FETCHED_BYTES = 4 * KIB
"""Smallest part of a small file; below, nothing but start-up is measured."""

ROUNDS = 2
MOST_ROUNDS = 8
"""A busy host can delay a small transfer until it takes as long as a large one: such a probe goes on for a while."""

_TIMEOUT_S = 120.0
_WRONG_SUM = "0" * 64
_PARTIAL, _UNAUTHORIZED, _NOT_FOUND, _DIGEST_DIFFERS = 206, 401, 404, 422
_INSTEAD = "name the path by --bandwidth"

Clock = Callable[[], float]


def probe_upload_line(url: str, clock_s: Clock = time.perf_counter) -> tuple[FittedLine, frozenset[Codec]]:
    """Return the way to a `serve-files`, and codecs of both ends.

    From uploads of bytes that do not pack and are named by a wrong sum: none is kept.

    Raises
    ------
    CopyFailed : the server cannot be reached, is none of ours, takes no files, or the path is too uneven to tell.
    """
    name = f"{url.rstrip('/')}/tradewind-probe-{uuid4().hex[:8]}"
    codecs: frozenset[Codec] = frozenset()

    def time_upload(http: httpx.Client, size: int) -> TimedTransfer:
        data = os.urandom(size)
        started_s = clock_s()
        with http.stream("PUT", name, content=data, headers={"Tradewind-Sha256": _WRONG_SUM}) as answer:
            took_s = clock_s() - started_s
        if answer.status_code == _UNAUTHORIZED:
            raise CopyFailed(f"{url} wants a login (401): name it in the address, USER:PASSWORD@HOST, or {_INSTEAD}")
        if answer.status_code != _DIGEST_DIFFERS:
            raise CopyFailed(f"{url} takes no files ({answer.status_code}); {_INSTEAD}")
        return TimedTransfer(size, took_s)

    def choose_sizes(http: httpx.Client) -> tuple[int, ...]:
        nonlocal codecs
        with http.stream("OPTIONS", url) as answer:
            answer_headers = answer.headers
        if not answer_headers.get("server", "").startswith("tradewind"):
            raise CopyFailed(f"{url} is no serve-files, which alone takes probes; {_INSTEAD}")
        codecs = list_common_codecs(answer_headers.get(CODECS_HEADER, ""))
        return PROBE_SIZES_BYTES

    return _fit_line(url, choose_sizes, time_upload), codecs


def probe_download_line(url: str, clock_s: Clock = time.perf_counter) -> FittedLine:
    """Measure the path from a server that supports ranges, by fetching beginnings of the file at ``url``.

    Raises
    ------
    CopyFailed : the server cannot be reached, has no ranges of it, it is too small, or the path is too uneven to tell.
    """

    def time_download(http: httpx.Client, size: int) -> TimedTransfer:
        started_s = clock_s()
        with http.stream("GET", url, headers={"Range": f"bytes=0-{size - 1}"}) as answer:
            received_bytes = _count_body_bytes(answer, size)
        took_s = clock_s() - started_s
        if answer.status_code != _PARTIAL or received_bytes != size:
            raise CopyFailed(f"{url} does not come in ranges ({answer.status_code}); {_INSTEAD}")
        return TimedTransfer(size, took_s)

    def choose_sizes(http: httpx.Client) -> tuple[int, ...]:
        with http.stream(
            "GET", url, headers={"Range": "bytes=0-0"}
        ) as answer:  # a server without ranges would send the full file
            total = answer.headers.get("content-range", "").rpartition("/")[2]
        if answer.status_code == _NOT_FOUND:
            raise CopyFailed(f"{url} is not there (404); name a file of the server, or {_INSTEAD}")
        if answer.status_code != _PARTIAL or not total.isdecimal():
            raise CopyFailed(f"{url} does not come in ranges ({answer.status_code}); {_INSTEAD}")
        return _choose_sizes(url, int(total))

    return _fit_line(url, choose_sizes, time_download)


def estimate_query_s(line: NetworkLine) -> float:
    """Return what a packed upload takes to ask what is there already, s.

    It is one round trip; the set-up of a probe has two.
    """
    return line.setup_s / 2


def _count_body_bytes(answer: httpx.Response, most: int) -> int:
    """Return how long a body is, as it comes; of one that is longer, no more than that."""
    received_bytes = 0
    for piece in answer.iter_raw():
        received_bytes += len(piece)
        if received_bytes > most:
            break
    return received_bytes


def _choose_sizes(url: str, file_bytes: int) -> tuple[int, ...]:
    """Return those of a probe, smaller ones of a file that has not as many bytes."""
    largest = min(PROBE_SIZES_BYTES[-1], file_bytes)
    if largest < MIN_SIZE_RATIO * LEAST_FETCHED_BYTES:
        least = MIN_SIZE_RATIO * LEAST_FETCHED_BYTES
        raise CopyFailed(f"{url} has {file_bytes} bytes, a probe needs {least}; name a larger file, or {_INSTEAD}")
    smallest = max(largest * PROBE_SIZES_BYTES[0] // PROBE_SIZES_BYTES[-1], LEAST_FETCHED_BYTES)
    return smallest, round((smallest * largest) ** 0.5), largest


def _fit_line(
    url: str, sizes: Callable[[httpx.Client], tuple[int, ...]], timed: Callable[[httpx.Client, int], TimedTransfer]
) -> FittedLine:
    try:
        # Each on a connection of its own: T.SC is what a transfer costs that begins with nothing.
        headers = {"Connection": "close", "Accept-Encoding": "identity"}
        with httpx.Client(timeout=_TIMEOUT_S, headers=headers) as http:
            return _fit_rounds(http, sizes(http), timed)
    except (httpx.UnsupportedProtocol, httpx.InvalidURL):
        raise CopyFailed(f"{url} is no address of a server, such as http://host:8090/; {_INSTEAD}") from None
    except httpx.ConnectError as away:
        raise CopyFailed(f"{url} cannot be reached; check the address, and that the server runs ({away})") from None
    except httpx.HTTPError as failure:
        raise CopyFailed(f"{url} cannot be probed: {failure}; {_INSTEAD}") from None
    except InvalidValue as uneven:
        raise CopyFailed(f"the path to {url} is too uneven for a probe ({uneven.reason}); use --bandwidth") from None


def _fit_rounds(
    http: httpx.Client, sizes: tuple[int, ...], timed: Callable[[httpx.Client, int], TimedTransfer]
) -> FittedLine:
    """Fit a line to `ROUNDS` transfers of each size, or to as many more as it takes to see the rate."""
    transfers = [timed(http, size) for size in sizes * ROUNDS]
    for _ in range(ROUNDS, MOST_ROUNDS):
        with suppress(InvalidValue):
            return fit_network_line(transfers)
        transfers += [timed(http, size) for size in sizes]
    return fit_network_line(transfers)
