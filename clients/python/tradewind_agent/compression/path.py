"""What a path costs any transfer and carries of a long one, found by sending files of three sizes."""

import os
import time
from collections.abc import Callable
from uuid import uuid4

import httpx

from tradewind.compression.model import Line
from tradewind.compression.probe import Timed, fitted_line
from tradewind.errors import InvalidValue
from tradewind.units import KIB, MIB
from tradewind_agent.errors import CopyFailed

PROBE_SIZES_BYTES = (64 * KIB, 256 * KIB, MIB)
ROUNDS = 2
_TIMEOUT_S = 120.0
_WRONG_SUM = "0" * 64
_DIGEST_DIFFERS = 422


def probed_line(url: str, clock_s: Callable[[], float] = time.perf_counter) -> Line:
    """The path to a `serve-files`, from uploads of bytes that do not pack and are named by a wrong sum: none is kept.

    Raises
    ------
    CopyFailed : the server cannot be reached, is none of ours, takes no files, or the path is too uneven to tell.
    """
    name = f"{url.rstrip('/')}/.tradewind-probe-{uuid4().hex[:8]}"
    timed = []
    try:
        # Each on a connection of its own: T.SC is what a transfer costs that begins with nothing.
        with httpx.Client(timeout=_TIMEOUT_S, headers={"Connection": "close"}) as http:
            if not http.options(url).headers.get("server", "").startswith("tradewind"):
                raise CopyFailed(f"{url} is no serve-files, which alone takes probes; name the path by --bandwidth")
            for size in PROBE_SIZES_BYTES * ROUNDS:
                data = os.urandom(size)
                begun_s = clock_s()
                answer = http.put(name, content=data, headers={"Tradewind-Sha256": _WRONG_SUM})
                timed.append(Timed(size, clock_s() - begun_s))
                if answer.status_code != _DIGEST_DIFFERS:
                    raise CopyFailed(f"{url} takes no files ({answer.status_code}); name the path by --bandwidth")
        return fitted_line(timed).line
    except httpx.HTTPError as failure:
        raise CopyFailed(f"{url} cannot be probed: {failure}; name the path by --bandwidth") from None
    except InvalidValue as uneven:
        raise CopyFailed(f"the path to {url} is too uneven for a probe ({uneven.reason}); use --bandwidth") from None
