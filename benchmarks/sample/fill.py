"""Fill a running service with the sample: ``python -m benchmarks.sample.fill ADDRESS FOLDER DAYS``.

The data take the usual way: logs are uploaded, workers learn and publish, and ends of tuned transfers are reported as
agents report them. Prices and quotes are put in the past (`benchmarks.sample.prices`), and so are the expectations of
tuned transfers (`benchmarks.sample.expectations`). Existing data stay unchanged.
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
from benchmarks.sample.expectations import AnsweredRequest, store_expectations
from benchmarks.sample.prices import price_and_quote
from benchmarks.sample.service_parts import OpenParts, open_parts_of_service
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
        key = _wait_until_found(
            lambda: _read_key(address, Path(folder) / "agent-key"), START_PATIENCE_S, "the service did not start"
        )
        with httpx.Client(
            base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=REQUEST_S, trust_env=False
        ) as service:
            fill(service, partial(open_parts_of_service, Path(folder)), timedelta(days=int(days)))
    except (TradewindError, httpx.HTTPError) as failure:
        _print_line(f"not filled: {failure}")
        return 1
    return 0


def fill(service: httpx.Client, behind: OpenParts, shift: timedelta) -> None:
    """Upload what is missing of the sample, by the API and directly, and print what was done."""
    logs = [json.dumps(row).encode() + b"\n" for row in rows.list_rows(shift)]
    receipt = _call(service, "POST", "/v1/logs", content=b"".join(logs))
    if not receipt["duplicate"]:
        _print_line(
            f"{receipt['accepted']} recorded transfers uploaded, {receipt['rejected']} damaged ones in quarantine"
        )
    release = _wait_until_found(lambda: _find_release(service), RELEASE_PATIENCE_S, "no release was made of the logs")
    if not _call(service, "GET", "/v1/price-books"):
        priced, quoted = price_and_quote(behind, list(rows.list_recorded(shift)))
        _print_line(f"{priced} tiers priced and published, {quoted} recorded transfers quoted")
    if not _call(service, "GET", "/v1/limits"):
        _call(service, "PUT", "/v1/limits", json=CAP)
    if not _call(service, "GET", "/v1/transfers"):
        store_expectations(
            behind, [_complete_transfer(service, completion) for completion in rows.list_completions(shift)]
        )
    links = len(_call(service, "GET", "/v1/links"))
    _print_line(
        f"ready: {len(logs)} recorded transfers over {links} links, release {release} is current, prices published"
    )


def _complete_transfer(service: httpx.Client, completion: dict[str, Any]) -> AnsweredRequest:
    """Complete a transfer under the id and the quote that the service returns for the request; return the answer."""
    request = rows.read_request(completion)
    answer = _call(service, "POST", "/v1/recommend", json=request)
    price = answer["sla"].get("price")
    quote = {"quote": price["quote"]} if price else {}
    report = completion | {
        "records": [each | {"transfer_id": answer["transfer_id"]} | quote for each in completion["records"]]
    }
    _call(service, "POST", f"/v1/transfers/{answer['transfer_id']}/complete", json=report)
    return AnsweredRequest(request, answer)


def _read_key(address: str, file: Path) -> str | None:
    """Return the key that the service has made for this machine, once it answers."""
    try:
        httpx.get(f"{address}/readyz", timeout=5.0, trust_env=False).raise_for_status()
        return file.read_text(encoding="utf-8").strip()
    except (httpx.HTTPError, FileNotFoundError):
        return None


def _find_release(service: httpx.Client) -> int | None:
    published = [each for each in _call(service, "GET", "/v1/releases") if each.get("published_at")]
    return published[0]["id"] if published else None


def _wait_until_found(look: Callable[[], Any], patience_s: float, failure: str) -> Any:
    """Return what ``look`` finds in the end."""
    deadline = time.monotonic() + patience_s
    while (found := look()) is None:
        if time.monotonic() > deadline:
            raise NotFilled(f"{failure} within {patience_s:g} s")
        time.sleep(POLL_S)
    return found


def _call(service: httpx.Client, method: str, path: str, **sent: Any) -> Any:
    """Call the service; return its answer."""
    answer = service.request(method, path, **sent)
    if answer.is_error:
        raise NotFilled(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
    return answer.json()


def _print_line(text: str) -> None:
    sys.stdout.write(f"sample: {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
