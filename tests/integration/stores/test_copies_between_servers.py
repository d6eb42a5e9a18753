"""Copies between two servers: what arrives, what is skipped, what is refused, and what the log says."""

import json
import os
import random
import signal
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.conditions import eventually
from tests.integration.agent.support.command import environment, run, start
from tests.integration.engine.transfers import options
from tests.integration.serve_files.serving import serving
from tests.integration.stores.bucket import Bucket
from tradewind.errors import InvalidValue
from tradewind.transfer import Direction
from tradewind_agent.copy.listing import list_files
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.preview import preview_copy
from tradewind_agent.copy.run import copy_files
from tradewind_agent.engine.store_access import StoreAccess
from tradewind_agent.errors import UnusableSource

CONTENT = {
    "a.bin": 3_000,
    "a.bin/below": 7,
    "empty": 0,
    "folder/": 0,
    "odd//key": 12,
    "dir/b ü+&=?#;'(),.bin": 3_000,
    "dir/sub/%41~*!$@:[x]": 40_000,
    "large.bin": 20_000_000,
}


@pytest.fixture(scope="module")
def content() -> dict[str, bytes]:
    draw = random.Random(8)
    return {key: draw.randbytes(size) for key, size in CONTENT.items()}


@pytest.fixture
def filled(bucket: Bucket, content: dict[str, bytes]) -> dict[str, bytes]:
    for key, data in content.items():
        bucket.put(f"x/{key}", data, ContentType="application/x-own", Metadata={"who": "me"}, CacheControl="no-store")
    return content


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    folder = tmp_path / "served"
    folder.mkdir()
    with serving(folder, writable=True) as server:
        yield f"http://127.0.0.1:{server.port}", folder


def read(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("third_party", [True, False])
def test_a_prefix_arrives_with_every_key_and_its_metadata(bucket: Bucket, filled: dict[str, bytes], third_party: bool):
    report = bucket.relay(f"s3://{bucket.name}/x/", f"s3://{bucket.name}/y/", third_party=third_party)
    assert report.is_complete
    assert bucket.read("y/") == filled
    assert bucket.list_uploads() == []
    for key in ("a.bin", "large.bin"):
        head = bucket.client.head_object(Bucket=bucket.name, Key=f"y/{key}")
        assert (head["ContentType"], head["Metadata"]) == ("application/x-own", {"who": "me"})
        assert head["CacheControl"] == "no-store"


def test_a_copy_between_servers_is_logged_as_one(bucket: Bucket, filled: dict[str, bytes]):
    report = bucket.relay(f"s3://{bucket.name}/x/", f"s3://{bucket.name}/y/", third_party=False)
    assert {record.direction for record in report.records} == {Direction.THIRD_PARTY}
    assert {record.mover.name for record in report.records} == {"tradewind-relay"}
    assert report.bytes_moved == sum(map(len, filled.values()))
    assert report.files_done == len(filled)


def test_objects_go_to_a_file_server_and_back(bucket: Bucket, filled: dict[str, bytes], served: tuple[str, Path]):
    url, folder = served
    report = bucket.relay(f"s3://{bucket.name}/x/dir/", f"{url}/in/")
    assert report.is_complete
    assert read(folder / "in") == {
        key.removeprefix("dir/"): data for key, data in filled.items() if key.startswith("dir/")
    }
    assert bucket.relay(f"s3://{bucket.name}/x/large.bin", f"{url}/in/renamed").is_complete
    assert (folder / "in/renamed").read_bytes() == filled["large.bin"]
    assert bucket.relay(f"{url}/in/", f"s3://{bucket.name}/back/").is_complete
    assert bucket.read("back/") == read(folder / "in")
    assert bucket.relay(f"{url}/in/", f"{url}/two/").is_complete
    assert read(folder / "two") == read(folder / "in")


def test_keys_that_no_file_can_have_are_left_out_only_for_file_servers(bucket, filled, served):
    report = bucket.relay(f"s3://{bucket.name}/x/", f"{served[0]}/in/")
    assert not report.is_complete
    assert {each.place.partition("/x/")[2] for each in report.left_out} == {"odd//key", "a.bin/below"}
    assert report.succeeded


def test_objects_that_are_there_are_not_sent_again(bucket: Bucket, filled: dict[str, bytes], tmp_path: Path):
    small = {key: data for key, data in filled.items() if len(data) < 8_000_000}
    bucket.relay(f"s3://{bucket.name}/x/", f"s3://{bucket.name}/y/")
    again = bucket.relay(f"s3://{bucket.name}/x/", f"s3://{bucket.name}/y/", checksum=True)
    assert again.files_skipped >= len(small)
    bucket.put("x/a.bin", b"b" * 3_000)
    changed = bucket.relay(f"s3://{bucket.name}/x/a.bin", f"s3://{bucket.name}/y/a.bin")
    assert changed.files_done == 1
    assert bucket.read("y/")["a.bin"] == b"b" * 3_000


def test_a_dry_run_moves_nothing_and_says_what_is_there(bucket: Bucket, filled: dict[str, bytes]):
    bucket.relay(f"s3://{bucket.name}/x/a.bin", f"s3://{bucket.name}/y/a.bin")
    used = options(stores=StoreAccess(endpoint_url=bucket.url, region="us-east-1"))
    listing = list_files([f"s3://{bucket.name}/x/"], f"s3://{bucket.name}/y/", options=used)
    preview = preview_copy(listing, used)
    assert [str(job).endswith("/x/a.bin") for job in preview.already_there] == [True]
    assert preview.bytes_to_move == sum(map(len, filled.values())) - 3_000
    assert set(bucket.read("y/")) == {"a.bin"}


@pytest.mark.parametrize(
    ("source", "destination", "words"),
    [
        ("x/", "x/", "lies in the source"),
        ("x/", "x/inner/", "lies in the source"),
        ("", "y/", "lies in the source"),
        ("x/a.bin", "x/a.bin", "is a source of this copy"),
        ("x/x/", "x/", "is a source of this copy"),
        ("x/", "y", "names one file"),
        ("x", "y", "names one file"),
    ],
)
def test_copies_into_their_own_source_are_refused(bucket: Bucket, filled, source: str, destination: str, words: str):
    bucket.put("x/x/x/below", b"b")
    bucket.put("x/x/below", b"a")
    before = bucket.read()
    with pytest.raises(UnusableSource, match=words):
        bucket.relay(f"s3://{bucket.name}/{source}", f"s3://{bucket.name}/{destination}")
    assert bucket.read() == before


def test_local_and_remote_sources_do_not_go_together(bucket: Bucket, tmp_path: Path):
    with pytest.raises(InvalidValue, match="local and remote"):
        list_files([str(tmp_path), "http://127.0.0.1:9/a"], "http://127.0.0.1:9/b/", options=options())


def test_a_manifest_names_what_is_relayed_and_its_sums_are_compared(bucket, filled, served, tmp_path):
    url, folder = served
    (folder / "in").mkdir()
    (folder / "in/a").write_bytes(b"right")
    (folder / "in/b").write_bytes(b"wrong")
    rows = [{"path": name, "size_bytes": 5, "sha256": sha256(b"right").hexdigest()} for name in "ab"]
    manifest = tmp_path / "manifest"
    manifest.write_text("\n".join(json.dumps(row) for row in rows))
    used = options(stores=StoreAccess(endpoint_url=bucket.url, region="us-east-1"))
    report = copy_files(
        [f"{url}/in/"], f"s3://{bucket.name}/m/", options=CopyOptions(engine=used), manifest=str(manifest)
    )
    assert bucket.read("m/") == {"a": b"right"}
    (failure,) = report.failures
    assert failure.file.endswith("/in/b")
    assert failure.reason.startswith("sha256 is ")


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_copy_that_was_ended_is_completed_by_the_same_command(bucket: Bucket, tmp_path: Path, ending: signal.Signals):
    data = random.Random(4).randbytes(60_000_000)
    bucket.put("x/large", data)
    words = [f"s3://{bucket.name}/x/large", f"s3://{bucket.name}/y/large", "--endpoint-url", bucket.url, "--json"]
    fixed = [
        "--third-party",
        "never",
        "--region",
        "us-east-1",
        "--concurrency",
        "1",
        "--parallelism",
        "2",
        "--pipelining",
        "1",
    ]
    env = environment(tmp_path / "home", **{name: os.environ[name] for name in os.environ if name.startswith("AWS_")})
    with start("copy", *words, *fixed, "--limit-rate", "80Mbps", env=env) as process:
        eventually(lambda: bucket.list_uploads() == ["y/large"])
        upload = bucket.client.list_multipart_uploads(Bucket=bucket.name)["Uploads"][0]["UploadId"]
        eventually(
            lambda: (
                len(bucket.client.list_parts(Bucket=bucket.name, Key="y/large", UploadId=upload).get("Parts", [])) >= 2
            )
        )
        process.send_signal(ending)
        _, said = process.communicate()
    assert b"Traceback" not in said
    assert bucket.read("y/") == {}
    again = run("copy", *words, *fixed, env=env)
    assert again.code == 0
    assert again.document["files_done"] == 1
    assert again.document["bytes_moved"] < len(data)
    assert bucket.read("y/") == {"large": data}
    assert bucket.list_uploads() == []
