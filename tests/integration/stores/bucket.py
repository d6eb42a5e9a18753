"""A bucket of a real protocol, and what a copy from or to it leaves."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.engine.transfers import options
from tradewind.parameters import Parameters
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.copy.run import copy_files
from tradewind_agent.engine.remote.omissions import REPORT_ALL, ListingRules
from tradewind_agent.engine.store_access import StoreAccess

CONTENT = {
    "a.bin": 3_000,
    "empty": 0,
    "dir/b ü+&=?#;'(),.bin": 3_000,
    "dir/sub/%41~*!$@:[x]": 40_000,
    "large.bin": 3_000_000,
}


@dataclass(frozen=True)
class Bucket:
    """A bucket of a store that this process serves."""

    url: str
    name: str
    client: Any

    def put(self, key: str, content: bytes, **fields: Any) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=content, **fields)

    def fetch(self, source: str, folder: Path, *, rules: ListingRules = REPORT_ALL, **access: Any) -> CopyReport:
        known = StoreAccess(endpoint_url=self.url, region="us-east-1", **access)
        return self._copy(source, str(folder), known, rules=rules)

    def send(self, folder: Path, destination: str, part_bytes: int | None = None, **changes: Any) -> CopyReport:
        access = StoreAccess(endpoint_url=self.url, region="us-east-1")
        return self._copy(f"{folder}/", destination, access, part_bytes, **changes)

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

    def _copy(
        self,
        source: str,
        destination: str,
        access: StoreAccess,
        part_bytes: int | None = None,
        *,
        rules: ListingRules = REPORT_ALL,
        **changes: Any,
    ) -> CopyReport:
        by_hand = Parameters(concurrency=3, parallelism=2, pipelining=2, part_bytes=part_bytes)
        engine = options(stores=access, **changes)
        settings = CopyOptions(by_hand=by_hand, tune=False, listing=rules, engine=engine)
        return copy_files([source], destination, options=settings)

    def list_keys(self) -> set[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name)
        return {each["Key"] for page in pages for each in page.get("Contents", ())}


def read(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
