"""A bucket of a store that another process serves, and copies from and to it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.engine.transfers import options
from tradewind.parameters import Parameters
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.report import CopyReport
from tradewind_agent.copy.run import copy_files
from tradewind_agent.engine.store_access import StoreAccess


@dataclass(frozen=True)
class Bucket:
    """A bucket of a store."""

    url: str
    name: str
    client: Any

    def put(self, key: str, content: bytes, **fields: Any) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=content, **fields)

    def fetch(self, source: str, folder: Path, **access: Any) -> CopyReport:
        return self._copy(source, str(folder), StoreAccess(endpoint_url=self.url, region="us-east-1", **access))

    def send(self, folder: Path, destination: str, **changes: Any) -> CopyReport:
        access = StoreAccess(endpoint_url=self.url, region="us-east-1")
        return self._copy(f"{folder}/", destination, access, **changes)

    def relay(self, source: str, destination: str, **changes: Any) -> CopyReport:
        access = StoreAccess(endpoint_url=self.url, region="us-east-1")
        return self._copy(source, destination, access, **changes)

    def read(self, prefix: str = "") -> dict[str, bytes]:
        """Content by key of all objects below a prefix, which is left out of the keys."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        keys = [each["Key"] for page in pages for each in page.get("Contents", [])]
        return {
            key.removeprefix(prefix): self.client.get_object(Bucket=self.name, Key=key)["Body"].read() for key in keys
        }

    def list_uploads(self) -> list[str]:
        """Keys of uploads in parts that are not finished."""
        found = self.client.list_multipart_uploads(Bucket=self.name)
        return [each["Key"] for each in found.get("Uploads", [])]

    def _copy(self, source: str, destination: str, access: StoreAccess, **changes: Any) -> CopyReport:
        engine = options(stores=access, **changes)
        by_hand = Parameters(concurrency=3, parallelism=2, pipelining=2)
        return copy_files([source], destination, options=CopyOptions(by_hand=by_hand, tune=False, engine=engine))
