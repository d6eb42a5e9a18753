"""Copies from and to an object store: what arrives, what is left out, and what a user reads when the store refuses."""

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.agent.support.command import environment, run
from tests.integration.engine.transfers import options
from tests.integration.stores.bucket import CONTENT, Bucket, read
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.units import MIB
from tradewind_agent.copy.listing import list_files
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.run import copy_files
from tradewind_agent.engine.skipping import SkipRule
from tradewind_agent.engine.store_access import ObjectProperties, StoreAccess
from tradewind_agent.errors import CopyFailed, LibraryMissing, UnusableSource


@pytest.mark.parametrize("end", ["", "/"])
def test_a_bucket_is_copied_with_all_below_it(bucket: Bucket, filled: dict[str, bytes], tmp_path: Path, end: str):
    report = bucket.fetch(f"s3://{bucket.name}{end}", tmp_path / "copy")
    assert report.is_complete, report.format_line()
    assert read(tmp_path / "copy") == filled


@pytest.mark.parametrize("source", ["dir", "dir/"])
def test_a_prefix_is_a_folder_with_or_without_a_slash(bucket, filled, tmp_path, source):
    assert bucket.fetch(f"s3://{bucket.name}/{source}", tmp_path / "copy").is_complete
    below = {key.removeprefix("dir/"): data for key, data in filled.items() if key.startswith("dir/")}
    assert read(tmp_path / "copy") == below


def test_an_object_takes_the_name_given_or_its_own_in_a_folder(bucket, filled, tmp_path):
    assert bucket.fetch(f"s3://{bucket.name}/a.bin", tmp_path / "one").is_complete
    assert (tmp_path / "one").read_bytes() == filled["a.bin"]
    (tmp_path / "into").mkdir()
    assert bucket.fetch(f"s3://{bucket.name}/a.bin", tmp_path / "into").is_complete
    assert read(tmp_path / "into") == {"a.bin": filled["a.bin"]}


def test_objects_that_are_there_already_are_not_fetched_again(bucket, filled, tmp_path):
    bucket.fetch(f"s3://{bucket.name}/", tmp_path / "copy")
    again = bucket.fetch(f"s3://{bucket.name}/", tmp_path / "copy")
    assert (again.files_done, again.files_skipped) == (0, len(filled))


def test_keys_that_no_file_can_have_are_named_and_end_the_copy_with_a_failure(bucket, tmp_path):
    for key in ("good", "odd//x", "../up", "both", "both/in"):
        bucket.put(key, key.encode())
    report = bucket.fetch(f"s3://{bucket.name}/", tmp_path / "copy")
    assert not report.is_complete
    assert {each.place.removeprefix(f"s3://{bucket.name}/") for each in report.left_out} == {
        "odd//x",
        "../up",
        "both/in",
    }
    assert read(tmp_path / "copy") == {"good": b"good", "both": b"both"}


def test_archived_objects_are_left_out_until_they_are_restored(bucket, tmp_path):
    for key in ("cold", "warm"):
        bucket.put(key, key.encode(), StorageClass="GLACIER")
    bucket.put("now", b"now")
    bucket.client.restore_object(Bucket=bucket.name, Key="warm", RestoreRequest={"Days": 1})
    report = bucket.fetch(f"s3://{bucket.name}/", tmp_path / "copy")
    (left_out,) = report.left_out
    assert left_out.place == f"s3://{bucket.name}/cold"
    assert "is archived in GLACIER; restore it first" in left_out.reason
    assert read(tmp_path / "copy") == {"now": b"now", "warm": b"warm"}


def test_an_object_that_is_gone_meanwhile_is_named_as_the_user_writes_it(bucket, filled, tmp_path, monkeypatch):
    listed = bucket.fetch  # the listing still has it

    def forget(*_: object, **__: object) -> None:
        bucket.client.delete_object(Bucket=bucket.name, Key="a.bin")

    monkeypatch.setattr("tradewind_agent.copy.run.prepare_listed", _before(forget, "prepare_listed"))
    report = listed(f"s3://{bucket.name}/", tmp_path / "copy")
    assert [(each.file, each.reason) for each in report.failures] == [
        (f"s3://{bucket.name}/a.bin", "there is no such object")
    ]


def _before(act: Any, name: str) -> Any:
    from tradewind_agent.copy import run as module  # noqa: PLC0415

    original = getattr(module, name)

    def call(*arguments: Any, **named: Any) -> Any:
        act()
        return original(*arguments, **named)

    return call


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("s3://no-such-bucket-here/", "there is no such bucket; check its name, and --endpoint-url"),
        ("s3://{name}/nothing", "there is no such object, and none below it"),
        ("s3://{name}/nothing/", "nothing to copy"),
        ("s3://{name}/few/", "s3://{name}/few/ is an object, not a folder; write s3://{name}/few"),
    ],
)
def test_missing_sources_are_reported_in_one_line(bucket, tmp_path, source, message):
    bucket.put("few", b"x")
    with pytest.raises((UnusableSource, CopyFailed)) as refusal:
        bucket.fetch(source.format(name=bucket.name), tmp_path / "copy")
    assert message.format(name=bucket.name) in str(refusal.value)
    assert not (tmp_path / "copy").exists()


def test_missing_credentials_are_reported_with_how_to_give_them(bucket, tmp_path, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UnusableSource, match="no credentials for the object store: set AWS_ACCESS_KEY_ID"):
        bucket.fetch(f"s3://{bucket.name}/", tmp_path / "copy")


def test_a_public_bucket_is_read_without_credentials(bucket, tmp_path, monkeypatch):
    bucket.put("open", b"to all", ACL="public-read")
    bucket.put("closed", b"to some")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    report = bucket.fetch(f"s3://{bucket.name}/", tmp_path / "copy", is_anonymous=True)
    assert [each.file for each in report.failures] == [f"s3://{bucket.name}/closed"]
    assert read(tmp_path / "copy") == {"open": b"to all"}


def test_the_endpoint_and_the_key_may_come_from_a_profile(bucket, filled, tmp_path, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    config, keys = tmp_path / "config", tmp_path / "keys"
    config.write_text(
        f"[profile lab]\nservices = lab\nregion = us-east-1\n[services lab]\ns3 =\n  endpoint_url = {bucket.url}\n"
    )
    keys.write_text("[lab]\naws_access_key_id = key\naws_secret_access_key = secret\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(keys))
    engine = options(stores=StoreAccess(profile="lab"))
    copied = CopyOptions(by_hand=Parameters(concurrency=1, parallelism=1, pipelining=1), tune=False, engine=engine)
    assert copy_files([f"s3://{bucket.name}/a.bin"], str(tmp_path / "one"), options=copied).is_complete


def test_a_profile_that_is_not_there_is_named(bucket, tmp_path):
    with pytest.raises(UnusableSource, match=r"the configuration of AWS tools cannot be used: .*nobody"):
        bucket.fetch(f"s3://{bucket.name}/", tmp_path / "copy", profile="nobody")


def test_missing_library_is_reported_with_how_to_get_it(bucket, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "botocore.session", None)
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")  # with a key in the environment none is needed
    with pytest.raises(LibraryMissing, match=r"pip install 'tradewind-agent\[s3\]'"):
        bucket.fetch(f"s3://{bucket.name}/", tmp_path / "copy")


def test_the_command_line_copies_both_ways(bucket, filled, tmp_path):
    env = environment(tmp_path / "home", **{name: os.environ[name] for name in os.environ if name.startswith("AWS_")})
    place = f"s3://{bucket.name}/"
    copied = run("copy", place, str(tmp_path / "copy"), "--endpoint-url", bucket.url, "--json", env=env)
    assert copied.code == 0, copied.err
    assert copied.document["files_done"] == len(filled)
    assert read(tmp_path / "copy") == filled
    sent = run("copy", str(tmp_path / "copy"), f"{place}back/", "--endpoint-url", bucket.url, "--json", env=env)
    assert sent.code == 0, sent.err
    assert sent.document["files_done"] == len(filled)
    moved = run("copy", place, str(tmp_path / "other"), "--mover", "curl", env=env)
    assert moved.code == 2
    assert "curl gets no credentials for s3:// addresses here" in moved.error


def test_dry_run_names_objects_as_the_user_writes_them(bucket, filled, tmp_path):
    env = environment(tmp_path / "home", **{name: os.environ[name] for name in os.environ if name.startswith("AWS_")})
    (tmp_path / "new file").write_bytes(b"x")
    place, store = f"s3://{bucket.name}/dir/", ("--endpoint-url", bucket.url, "--dry-run")
    ways = (place, str(tmp_path / "copy")), (str(tmp_path / "new file"), place), (place, f"s3://{bucket.name}/other/")
    fetched, sent, relayed = (run("copy", *way, *store, env=env) for way in ways)
    assert f"{place}sub/%41~*!$@:[x] -> {tmp_path}/copy/sub/%41~*!$@:[x]" in fetched.out, fetched.err
    assert f"-> {place}new file" in sent.out, sent.err
    assert f"{place}sub/%41~*!$@:[x] -> s3://{bucket.name}/other/sub/%41~*!$@:[x]" in relayed.out, relayed.err
    assert "http" not in fetched.out + sent.out + relayed.out
    document = run("copy", *ways[0], *store, "--json", env=env).document
    assert set(document["files"]) == {f"s3://{bucket.name}/{key}" for key in filled if key.startswith("dir/")}


def test_codec_for_an_object_store_is_refused_before_anything_is_sent(bucket, tmp_path):
    env = environment(tmp_path / "home", **{name: os.environ[name] for name in os.environ if name.startswith("AWS_")})
    make_folder(tmp_path / "set", {"a.csv": b"1,2\n" * 50_000})
    ends = (str(tmp_path / "set"), f"s3://{bucket.name}/up/", "--endpoint-url", bucket.url)
    refused = run("copy", "--compress", "zstd", *ends, env=env)
    assert refused.code == 2
    assert "s3:// is an object store, which does not unpack files" in refused.error
    assert bucket.read() == {}
    sent = run("copy", "--compress", "auto", *ends, env=env)
    assert sent.code == 0, sent.err
    assert "all files go as they are" in sent.err
    assert bucket.read("up/") == {"a.csv": b"1,2\n" * 50_000}


WRITTEN_AT = 1_700_000_000
"""Before the run: a file of the second in which it is stored may be newer than the object."""


def make_folder(folder: Path, content: dict[str, bytes]) -> Path:
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        os.utime(folder / name, (WRITTEN_AT, WRITTEN_AT))
    return folder


def test_a_folder_is_sent_once_and_comes_back_the_same(bucket, tmp_path):
    draw = random.Random(6)
    content = {name: draw.randbytes(size) for name, size in (CONTENT | {"parts.bin": 20_000_000}).items()}
    source = make_folder(tmp_path / "source", content)
    place = f"s3://{bucket.name}/in/"
    sent = bucket.send(source, place)
    assert (sent.files_done, sent.failures) == (len(content), ())
    assert bucket.fetch(place, tmp_path / "back").is_complete
    assert read(tmp_path / "back") == content
    assert bucket.client.list_multipart_uploads(Bucket=bucket.name).get("Uploads", []) == []
    again = bucket.send(source, place)
    assert (again.files_done, again.files_skipped) == (0, len(content))


def test_a_file_that_has_changed_since_is_sent_again(bucket, tmp_path):
    source = make_folder(tmp_path / "source", {"a": b"one", "b": b"two"})
    place = f"s3://{bucket.name}/"
    bucket.send(source, place)
    (source / "a").write_bytes(b"new")
    later = time.time() + 60
    os.utime(source / "a", (later, later))
    assert (again := bucket.send(source, place)).files_done == 1, again.format_line()
    assert bucket.client.get_object(Bucket=bucket.name, Key="a")["Body"].read() == b"new"


def test_with_sums_an_object_with_other_bytes_is_sent_again(bucket, tmp_path):
    source = make_folder(tmp_path / "source", {"a": b"one", "b": b"two"})
    bucket.put("a", b"ONE")
    bucket.put("b", b"two")
    report = bucket.send(source, f"s3://{bucket.name}/", checksum=True)
    assert (report.files_done, report.files_skipped) == (1, 1)
    assert bucket.client.get_object(Bucket=bucket.name, Key="a")["Body"].read() == b"one"


def test_a_bucket_that_is_not_there_takes_nothing(bucket, tmp_path):
    source = make_folder(tmp_path / "source", {"a": b"one"})
    with pytest.raises(UnusableSource, match="there is no such bucket"):
        bucket.send(source, "s3://no-such-bucket-here/")


def test_headers_of_the_users_own_are_refused_rather_than_dropped(bucket, tmp_path):
    env = environment(tmp_path / "home", **{name: os.environ[name] for name in os.environ if name.startswith("AWS_")})
    place = f"s3://{bucket.name}/"
    refused = run("copy", str(tmp_path / "a"), place, "--header", "x-amz-acl: private", env=env)
    assert refused.code == 2
    assert "is not sent to object stores" in refused.error


def test_with_sums_a_file_that_is_gone_fails_in_one_line(bucket, tmp_path, monkeypatch):
    source = make_folder(tmp_path / "source", {"a": b"one"})
    bucket.put("a", b"ONE")
    monkeypatch.setattr("tradewind_agent.copy.run.prepare_listed", _before((source / "a").unlink, "prepare_listed"))
    (failure,) = bucket.send(source, f"s3://{bucket.name}/", checksum=True).failures
    assert "cannot read" in failure.reason


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA256", "CRC32C", "CRC64NVME"])
def test_objects_with_checksums_of_other_tools_arrive(bucket, tmp_path, algorithm):
    bucket.put("a", b"some bytes", ChecksumAlgorithm=algorithm)
    assert bucket.fetch(f"s3://{bucket.name}/", tmp_path / "copy").is_complete
    assert read(tmp_path / "copy") == {"a": b"some bytes"}


@pytest.mark.parametrize("part_bytes", [None, 5 * MIB])
def test_size_of_parts_and_kind_of_store_are_logged(bucket: Bucket, tmp_path: Path, part_bytes: int | None):
    source = tmp_path / "up"
    source.mkdir()
    (source / "large").write_bytes(random.Random(4).randbytes(11 * MIB))
    (source / "small").write_bytes(b"x")
    sent = bucket.send(source, f"s3://{bucket.name}/", part_bytes=part_bytes)
    fetched = bucket.fetch(f"s3://{bucket.name}/", tmp_path / "down")
    assert {record.store for record in (*sent.records, *fetched.records)} == {"s3"}
    assert sent.records[0].parameters.part_bytes == (part_bytes or 8 * MIB)
    assert fetched.records[0].parameters.part_bytes is None
    again = bucket.send(source, f"s3://{bucket.name}/", part_bytes=6 * MIB, checksum=True)
    assert again.files_skipped == 2


def test_upload_without_parts_logs_no_size_of_parts(bucket: Bucket, tmp_path: Path):
    (tmp_path / "up").mkdir()
    (tmp_path / "up" / "small").write_bytes(b"x")
    sent = bucket.send(tmp_path / "up", f"s3://{bucket.name}/", part_bytes=5 * MIB)
    assert sent.records[0].parameters.part_bytes is None


def test_existing_objects_stay_and_newer_ones_too(bucket, tmp_path):
    for name in ("stays", "is new"):
        (tmp_path / name).write_bytes(b"from here")
        os.utime(tmp_path / name, (time.time() - 60, time.time() - 60))
    bucket.put("up/stays", b"of the store")
    for skip in (SkipRule.EXISTING, SkipRule.NEWER):
        report = bucket.send(tmp_path, f"s3://{bucket.name}/up/", skip=skip)
        assert report.is_complete, report.format_line()
        assert bucket.client.get_object(Bucket=bucket.name, Key="up/stays")["Body"].read() == b"of the store"
    assert (report.files_done, report.files_skipped) == (0, 2)
    later_s = time.time() + 3_600
    os.utime(tmp_path / "stays", (later_s, later_s))
    assert bucket.send(tmp_path, f"s3://{bucket.name}/up/", skip=SkipRule.NEWER).files_done == 1
    assert bucket.client.get_object(Bucket=bucket.name, Key="up/stays")["Body"].read() == b"from here"


def test_properties_of_objects_reach_the_store(bucket, tmp_path):
    (tmp_path / "small.csv").write_bytes(b"a,b")
    (tmp_path / "large.bin").write_bytes(bytes(9_000_000))
    named = ObjectProperties(storage_class="STANDARD_IA", metadata=(("project", "storm  7"),))
    assert bucket.send(tmp_path, f"s3://{bucket.name}/", properties=named).is_complete
    for key, kind in {"small.csv": "text/csv", "large.bin": "application/octet-stream"}.items():
        found = bucket.client.head_object(Bucket=bucket.name, Key=key)
        assert (found["StorageClass"], found["ContentType"]) == ("STANDARD_IA", kind)
        assert found["Metadata"] == {"project": "storm  7"}


def test_storage_class_that_the_store_does_not_have_stops_the_copy_in_one_line(bucket, tmp_path):
    for number in range(40):
        (tmp_path / f"f{number}").write_bytes(b"x")
    report = bucket.send(tmp_path, f"s3://{bucket.name}/", properties=ObjectProperties(storage_class="COLDEST"))
    assert not report.is_complete
    assert [each.file for each in report.failures] == ["the transfer"]
    assert "; stopped: the store has no storage class of that name; check --storage-class" in report.format_line()
    assert report.list_further_failures() == []


def test_properties_for_a_place_that_takes_none_are_refused(bucket, tmp_path):
    named = ObjectProperties(content_type="text/csv")
    refusal = "go with a destination that is s3://"
    with pytest.raises(InvalidValue, match=refusal):
        list_files([f"s3://{bucket.name}/"], str(tmp_path), options=options(properties=named))
    with pytest.raises(InvalidValue, match=refusal):
        list_files([str(tmp_path)], "http://127.0.0.1:9/", options=options(properties=named))
