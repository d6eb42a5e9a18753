"""Fill a running service with the sample: ``python -m benchmarks.sample.fill ADDRESS FOLDER DAYS``.

It goes the way of any other data: logs are uploaded, workers learn and publish, ends of tuned transfers are told as
agents tell them. Prices and quotes are put in the past (`benchmarks.sample.prices`), what was expected of tuned
transfers beside them (`benchmarks.sample.expectations`). What is there already stays as it is.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from benchmarks.sample import rows
from benchmarks.sample.behind import Behind, behind_the_service
from benchmarks.sample.expectations import Offered, tell_expectations
from benchmarks.sample.prices import price_and_quote
from tradewind.errors import TradewindError

START_PATIENCE_S = 180.0
RELEASE_PATIENCE_S = 600.0
POLL_S = 1.0
REQUEST_S = 120.0
CAP = {"scope": "link", "source": "sample-origin", "destination": "sample-ocean", "concurrency": 16, "streams": 32}


class NotFilled(TradewindError):
    """The service did not take the sample, or made nothing of it."""


def main(arguments: Sequence[str]) -> int:
    address, folder, days = arguments
    try:
        key = _waited(lambda: _key(address, Path(folder) / "agent-key"), START_PATIENCE_S, "the service did not start")
        with httpx.Client(
            base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=REQUEST_S, trust_env=False
        ) as service:
            fill(service, partial(behind_the_service, Path(folder)), timedelta(days=int(days)))
    except (TradewindError, httpx.HTTPError) as failure:
        _say(f"not filled: {failure}")
        return 1
    return 0


def fill(service: httpx.Client, behind: Behind, shift: timedelta) -> None:
    """Bring what is missing of the sample into the service, also ``behind`` its API, and say what was done."""
    logs = [json.dumps(row).encode() + b"\n" for row in rows.log_rows(shift)]
    receipt = _asked(service, "POST", "/v1/logs", content=b"".join(logs))
    if not receipt["duplicate"]:
        _say(f"{receipt['accepted']} recorded transfers uploaded, {receipt['rejected']} spoilt ones in quarantine")
    release = _waited(lambda: _release(service), RELEASE_PATIENCE_S, "no release was made of the logs")
    if not _asked(service, "GET", "/v1/price-books"):
        priced, quoted = price_and_quote(behind, list(rows.logged(shift)))
        _say(f"{priced} tiers priced and published, {quoted} recorded transfers quoted")
    if not _asked(service, "GET", "/v1/limits"):
        _asked(service, "PUT", "/v1/limits", json=CAP)
    if not _asked(service, "GET", "/v1/transfers"):
        tell_expectations(behind, [_tell(service, completion) for completion in rows.completions(shift)])
    links = len(_asked(service, "GET", "/v1/links"))
    _say(f"ready: {len(logs)} recorded transfers over {links} links, release {release} in force, prices published")


def _tell(service: httpx.Client, completion: dict[str, Any]) -> Offered:
    """The end of a transfer, under the id and for the price that the service offers for the same enquiry; the offer."""
    enquiry = rows.enquiry(completion)
    offered = _asked(service, "POST", "/v1/recommend", json=enquiry)
    price = offered["sla"].get("price")
    quote = {"quote": price["quote"]} if price else {}
    told = completion | {
        "records": [each | {"transfer_id": offered["transfer_id"]} | quote for each in completion["records"]]
    }
    _asked(service, "POST", f"/v1/transfers/{offered['transfer_id']}/complete", json=told)
    return Offered(enquiry, offered)


def _key(address: str, kept_in: Path) -> str | None:
    """The key that the service has made for this machine, once it answers."""
    try:
        httpx.get(f"{address}/readyz", timeout=5.0, trust_env=False).raise_for_status()
        return kept_in.read_text(encoding="utf-8").strip()
    except (httpx.HTTPError, FileNotFoundError):
        return None


def _release(service: httpx.Client) -> int | None:
    published = [each for each in _asked(service, "GET", "/v1/releases") if each.get("published_at")]
    return published[0]["id"] if published else None


def _waited(look: Callable[[], Any], patience_s: float, otherwise: str) -> Any:
    """What ``look`` finds in the end."""
    deadline = time.monotonic() + patience_s
    while (found := look()) is None:
        if time.monotonic() > deadline:
            raise NotFilled(f"{otherwise} within {patience_s:g} s")
        time.sleep(POLL_S)
    return found


def _asked(service: httpx.Client, method: str, path: str, **sent: Any) -> Any:
    """What the service answers to a call."""
    answer = service.request(method, path, **sent)
    if answer.is_error:
        raise NotFilled(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
    return answer.json()


def _say(text: str) -> None:
    sys.stdout.write(f"sample: {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
