"""Watch the service while faults come and go: whether recommendations come, and what the current release is."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import httpx
import psycopg

from benchmarks.faults.network import Network
from benchmarks.faults.waiting import wait_until
from benchmarks.support.background import repeat_until_stopped

ASK_EVERY_S = 0.1
LOOK_EVERY_S = 0.1
ANSWER_PATIENCE_S = 1.0
STEADY_S = 2.0
"""Recommendations must come without a break for so long before they count as back."""

CONNECT_PATIENCE_S = 3
STATEMENT_PATIENCE = "5s"


class RequestResult(NamedTuple):
    """One request for a recommendation: when, and the release that answered, if one did."""

    started_s: float
    finished_s: float
    release: int | None
    reason: str


class RequestLoop:
    """Requests a recommendation ten times a second, as an agent would, in the agents' network."""

    def __init__(self, address: str, key: str, body: Mapping[str, Any], network: Network) -> None:
        self._address, self._key, self._body, self._network = address, key, body, network
        self.results: list[RequestResult] = []

    def run(self, stopping: threading.Event) -> None:
        """Send requests until the event is set."""
        self._network.enter()
        headers = {"Authorization": f"Bearer {self._key}"}
        with httpx.Client(base_url=self._address, headers=headers, timeout=ANSWER_PATIENCE_S) as client:
            while not stopping.is_set():
                self.results.append(self._send_request(client))
                stopping.wait(max(0.0, self.results[-1].started_s + ASK_EVERY_S - time.monotonic()))

    def _send_request(self, client: httpx.Client) -> RequestResult:
        started_s = time.monotonic()
        release, reason = None, ""
        try:
            answer = client.post("/v1/recommend", json=self._body)
            release = answer.json().get("release") if answer.status_code == httpx.codes.OK else None
            if release is None:
                reason = f"{answer.status_code} {answer.text[:200]}"
        except httpx.TransportError as failure:
            reason = type(failure).__name__
        return RequestResult(started_s, time.monotonic(), release, reason)

    def wait_until_steady(self, finished_s: float) -> float:
        """Wait until recommendations come again; return the time from the end of a fault to the first that did not
        stop, s.
        """
        wait_until(lambda: self._is_steady(finished_s), "recommendations to come again")
        later = [each for each in self.results if each.started_s >= finished_s]
        missed = [place for place, each in enumerate(later) if each.release is None]
        return later[missed[-1] + 1].finished_s - finished_s if missed else 0.0

    def list_missed(self, started_s: float, finished_s: float) -> list[RequestResult]:
        """Return the requests without an answer."""
        return [each for each in self.results if started_s <= each.started_s < finished_s and each.release is None]

    def _is_steady(self, finished_s: float) -> bool:
        later = [each for each in self.results if each.started_s >= finished_s]
        last_miss_s = max((each.finished_s for each in later if each.release is None), default=finished_s)
        return bool(later) and later[-1].release is not None and later[-1].finished_s - last_miss_s >= STEADY_S


@dataclass
class ReleaseWatch:
    """Looks into the database, ten times a second, whether the current release is there completely.

    Attributes
    ----------
    looks : those that were answered.
    building : whether a release is being made.
    half : descriptions of a current release that was incomplete, or that changed while it was current.
    """

    url: Callable[[], str]
    looks: int = 0
    building: bool = False
    incomplete: list[str] = field(default_factory=list)
    _models_by_release: dict[int, str] = field(default_factory=dict)

    def run(self, stopping: threading.Event) -> None:
        """Look until the event is set."""
        while not stopping.is_set():
            try:
                with psycopg.connect(self.url(), autocommit=True, connect_timeout=CONNECT_PATIENCE_S) as admin:
                    admin.execute(f"SET statement_timeout = '{STATEMENT_PATIENCE}'")
                    for _ in repeat_until_stopped(stopping, LOOK_EVERY_S):
                        self._look(admin)
            except (psycopg.Error, OSError, IndexError):  # the database, or the file with its address, is missing
                stopping.wait(LOOK_EVERY_S)

    def _look(self, admin: psycopg.Connection) -> None:
        found = admin.execute(_CURRENT_RELEASE).fetchone()
        if found is None:  # there is no current release yet
            return
        building, wrong, release, models = found
        self.looks += 1
        self.building = bool(building)
        if building > 1:
            self.incomplete.append(f"{building} releases are built at once")
        if wrong:
            self.incomplete.append(f"current release: {wrong}")
        if self._models_by_release.setdefault(release, models) != models:
            self.incomplete.append(f"release {release} has other models than before")


_CURRENT_RELEASE = """
    SELECT (SELECT count(*) FROM releases WHERE state = 'building'),
           (SELECT string_agg(wrong, ', ') FROM (
              SELECT format('release %s is %s', r.id, r.state) AS wrong
                FROM current_releases JOIN releases r ON r.id = release_id
               WHERE r.state <> 'published' OR r.published_at IS NULL
              UNION ALL
              SELECT format('link %s of release %s is %s', l.link_id, l.release_id, l.state)
                FROM current_releases JOIN release_links l USING (release_id)
               WHERE l.state NOT IN ('done', 'failed')
              UNION ALL
              SELECT format('model %s has %s clusters, %s surfaces, %s without tiers', l.link_model_id,
                            count(c.id), count(s.cluster_id),
                            count(*) FILTER (WHERE NOT EXISTS (SELECT FROM sla_partitions WHERE cluster_id = c.id)))
                FROM current_releases JOIN release_links l USING (release_id)
                LEFT JOIN clusters c USING (link_model_id) LEFT JOIN surfaces s ON s.cluster_id = c.id
               WHERE l.link_model_id IS NOT NULL
               GROUP BY l.link_model_id
              HAVING count(c.id) = 0 OR count(s.cluster_id) < count(c.id)
                  OR bool_or(NOT EXISTS (SELECT FROM sla_partitions WHERE cluster_id = c.id))
            ) every_wrong),
           release_id, md5(string_agg(concat(link_id, link_model_id), ',' ORDER BY link_id))
      FROM current_releases JOIN release_links USING (release_id) GROUP BY release_id
"""
