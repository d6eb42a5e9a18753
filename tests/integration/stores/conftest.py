"""A store that speaks the S3 protocol, in a process of its own."""

import random
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from tests.integration.stores.bucket import CONTENT, Bucket
from tests.integration.stores.moto_store import serve_store
from tradewind_agent.stores.s3.session import open_session


@pytest.fixture(scope="module")
def store_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_store(tmp_path_factory.mktemp("store") / "log") as url:
        yield url


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A user with a key in the environment, and no configuration of AWS tools."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    open_session.cache_clear()
    yield
    open_session.cache_clear()


@pytest.fixture
def bucket(store_url: str) -> Iterator[Bucket]:
    client = boto3.client(
        "s3", endpoint_url=store_url, region_name="us-east-1", aws_access_key_id="key", aws_secret_access_key="secret"
    )
    name = f"data-{random.randrange(10**9)}"
    client.create_bucket(Bucket=name)
    yield Bucket(store_url, name, client)
    client.close()


@pytest.fixture
def filled(bucket: Bucket) -> dict[str, bytes]:
    draw = random.Random(5)
    content = {key: draw.randbytes(size) for key, size in CONTENT.items()}
    for key, data in content.items():
        bucket.put(key, data)
    bucket.put("dir/", b"")
    return content
