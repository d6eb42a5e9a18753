"""Each container is killed while logs are uploaded; what was acknowledged is there, once."""

import os
import signal
import threading
from functools import partial
from uuid import uuid4

import httpx
import psycopg
import pytest

from tests.compose.conftest import new_client
from tests.compose_stack import SERVER_SERVICES
from tests.conditions import eventually
from tests.records import ndjson, record


class Uploads(threading.Thread):
    """Uploads batch after batch; a batch that was not acknowledged is sent again as it is."""

    def __init__(self, stack, key):
        super().__init__()
        self._stack, self._key = stack, key
        self.acknowledged = []
        self.refused = []
        self.ended = threading.Event()

    def run(self):
        with new_client(self._stack, self._key) as client:
            while not self.ended.is_set():
                batch, name = [record(minute) for minute in range(5)], str(uuid4())
                while not self._sent(client, ndjson(batch), name):
                    if self.ended.is_set():
                        return
                self.acknowledged += [each["id"] for each in batch]

    def _sent(self, client, body, name):
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": name}
        try:
            answer = client.post("/v1/logs", content=body, headers=headers)
            if answer.status_code in (200, 201):  # 200: the first time it was stored, and the answer lost
                return True
            self.refused.append(f"{answer.status_code} {answer.text}")
        except httpx.HTTPError as failure:
            self.refused.append(repr(failure))
        return False


def is_back(stack, container, killed_process):
    """Whether it is healthy by another process: it is called healthy for a while after its own was killed."""
    process = int(stack.inspect(container, "{{.State.Pid}}"))
    return process not in (0, killed_process) and stack.health(container) == "healthy"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may kill processes of containers from outside")
def test_acknowledged_rows_survive_each_killed_service_once(stack, figure):
    key = stack.new_key()
    uploads = Uploads(stack, key)
    uploads.start()
    killed = 0
    try:
        for service in ("postgres", "redis", "caddy", *SERVER_SERVICES):
            before = len(uploads.acknowledged)
            for container in stack.containers(service)[:1]:
                process = int(stack.inspect(container, "{{.State.Pid}}"))
                os.kill(process, signal.SIGKILL)  # as memory that ran out does: Docker starts it again
                killed += 1
                eventually(partial(is_back, stack, container, process), patience_s=180)
            eventually(lambda before=before: len(uploads.acknowledged) > before, patience_s=120)
    except AssertionError:
        pytest.fail(f"after {service} was killed: {uploads.refused[-1:]}")
    finally:
        uploads.ended.set()
        uploads.join()
    with psycopg.connect(stack.url_from_here("admin_database_url", "postgres")) as database:
        query = "SELECT count(*), count(DISTINCT id) FROM transfer_logs WHERE id = ANY(%s::uuid[])"
        rows, different = database.execute(query, [uploads.acknowledged]).fetchone()
    acknowledged = len(uploads.acknowledged)
    figure(f"{killed} containers killed: {acknowledged} rows acknowledged, {different} there, {rows - different} twice")
    assert (rows, different) == (acknowledged, acknowledged)
