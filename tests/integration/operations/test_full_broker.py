"""Workers beside a real broker that answers, and takes no data: its disk is full, or it is a replica."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis

from services.application.shared.jobs import RefreshModels
from services.embedded.valkey import EmbeddedValkey
from services.queue.dispatcher import create_job_publisher
from tests.conditions import eventually
from tests.integration.celery_worker import worker

pytestmark = pytest.mark.long


@pytest.fixture
def valkey() -> Iterator[EmbeddedValkey]:
    """A broker of our own."""
    with EmbeddedValkey.temporary() as server:
        yield server


@pytest.fixture
def client(valkey: EmbeddedValkey) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey.url(), decode_responses=True) as opened:
        yield opened


class FullDisk:
    """A snapshot that cannot be written stops all writes: a folder stands where its file has to be."""

    refusal = "MISCONF"

    def __init__(self, client: redis.Redis, folder: Path) -> None:
        self._client = client
        self._in_the_way = folder / "data" / "dump.rdb" / "taken"

    def begin(self) -> None:
        self._in_the_way.mkdir(parents=True)
        self._client.config_set("save", "3600 1000000")
        self._saved("err")

    def end(self) -> None:
        self._in_the_way.rmdir()
        self._in_the_way.parent.rmdir()
        self._saved("ok")

    def _saved(self, status: str) -> None:
        self._client.bgsave()
        eventually(lambda: self._client.info("persistence")["rdb_last_bgsave_status"] == status)


class Replica:
    """A failover has made it a replica of one that does not answer."""

    refusal = "read only replica"

    def __init__(self, client: redis.Redis, _: Path) -> None:
        self._client = client

    def begin(self) -> None:
        self._client.replicaof("127.0.0.1", "1")

    def end(self) -> None:
        self._client.replicaof("NO", "ONE")


@pytest.mark.parametrize("trouble", [FullDisk, Replica])
def test_a_worker_outlives_a_broker_that_takes_no_data_and_does_the_next_job(
    trouble: Callable[[redis.Redis, Path], FullDisk | Replica],
    database_url: str,
    valkey: EmbeddedValkey,
    client: redis.Redis,
    tmp_path: Path,
) -> None:
    full = trouble(client, valkey.folder)
    environment = {"DATABASE_URL": database_url, "REDIS_URL": valkey.url()}
    with (
        worker(environment, tmp_path, "--concurrency=1") as running,
        closing(create_job_publisher(valkey.url())) as celery,
    ):
        full.begin()
        with pytest.raises(redis.ResponseError):
            client.set("anything", "")
        eventually(lambda: full.refusal in running.log.read_text())
        assert running.process.poll() is None
        full.end()
        celery.send_task(RefreshModels.name, kwargs={"tenant_id": "nobody"})
        eventually(lambda: running.outcomes("task.failed"))
        assert running.process.poll() is None
