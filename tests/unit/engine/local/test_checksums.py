"""Checksums: the sums of known bytes, and what the headers of answers state."""

from base64 import b64encode
from hashlib import md5, sha256
from pathlib import Path

import pytest

from tradewind_agent.engine.local.checksums import ALGORITHMS, Checksum, compute_checksum
from tradewind_agent.engine.local.stated_checksums import (
    find_stated_checksum,
    find_stored_checksum,
    find_tagged_checksum,
)

CHECK = b"123456789"
"""The input that check values of cyclic redundancy checks are published for."""

PUBLISHED = {
    "md5": "25f9e794323b453885f5181f1b624d0b",
    "crc64nvme": "ae8b14860a799888",
    "crc32c": "e3069283",
    "crc32": "cbf43926",
    "adler32": "091e01de",
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sum_of_a_file_has_its_length_and_its_published_value(tmp_path: Path, algorithm: str):
    (tmp_path / "file").write_bytes(CHECK)
    checksum = compute_checksum(tmp_path / "file", algorithm)
    assert len(checksum.digest) == ALGORITHMS[algorithm].digest_bytes
    assert checksum.digest.hex() == PUBLISHED.get(algorithm, checksum.digest.hex())
    assert str(checksum) == f"{algorithm} {checksum.digest.hex()}"


SHA256 = b64encode(sha256(CHECK).digest()).decode()
MD5 = b64encode(md5(CHECK).digest()).decode()


@pytest.mark.parametrize(
    ("headers", "algorithm"),
    [
        ({"repr-digest": f"sha-256=:{SHA256}:"}, "sha256"),
        ({"repr-digest": f"unixsum=:MTI=:, sha-256=:{SHA256}:"}, "sha256"),
        ({"digest": f"md5={MD5},SHA-256={SHA256}"}, "sha256"),
        ({"digest": "adler32=91e01de"}, "adler32"),  # some servers leave zeros out
        ({"digest": "adler32=091e01de"}, "adler32"),
        ({"x-goog-hash": f"crc32c=4waSgw==, md5={MD5}"}, "md5"),
        ({"x-goog-hash": f"md5={MD5}", "x-goog-stored-content-encoding": "gzip"}, None),
        ({"oc-checksum": f"MD5:{md5(CHECK).hexdigest()}"}, "md5"),
        ({"content-md5": MD5}, "md5"),
        ({"x-amz-checksum-crc64nvme": "rosUhgp5mIg="}, "crc64nvme"),
        ({"x-amz-checksum-crc32": "y/Q5Jg==-3"}, None),  # a sum of the sums of three parts
        ({"repr-digest": "sha-256=:QUJD:"}, None),
        ({"repr-digest": "sha-256=:not base64:", "content-md5": MD5}, "md5"),
        ({"etag": f'"{md5(CHECK).hexdigest()}"'}, None),
        ({}, None),
    ],
    ids=str,
)
def test_strongest_readable_sum_is_found(tmp_path: Path, headers: dict[str, str], algorithm: str | None):
    (tmp_path / "file").write_bytes(CHECK)
    found = find_stated_checksum(headers, is_full=True)
    assert found == (None if algorithm is None else compute_checksum(tmp_path / "file", algorithm))


def test_sum_of_one_answer_is_not_that_of_a_file_in_parts():
    for headers in ({"content-md5": MD5}, {"content-digest": f"sha-256=:{SHA256}:"}):
        assert find_stated_checksum(headers, is_full=False) is None
        assert find_stated_checksum(headers, is_full=True) is not None
    assert find_stated_checksum({"repr-digest": f"sha-256=:{SHA256}:"}, is_full=False) is not None


@pytest.mark.parametrize(
    ("tag", "headers", "is_sum"),
    [
        (f'"{md5(CHECK).hexdigest()}"', {}, True),
        (f'"{md5(CHECK).hexdigest()}"', {"x-amz-server-side-encryption": "AES256"}, True),
        (f'"{md5(CHECK).hexdigest()}"', {"x-amz-server-side-encryption": "aws:kms"}, False),
        (f'"{md5(CHECK).hexdigest()}"', {"x-amz-server-side-encryption-customer-algorithm": "AES256"}, False),
        (f'"{md5(CHECK).hexdigest()}"', {"x-amz-server-side-encryption": "aws:fsx"}, False),
        (f'"{md5(CHECK).hexdigest()}"', {"x-goog-encryption-kms-key-name": "projects/p"}, False),
        (f'"{md5(CHECK).hexdigest()}"', {"x-amz-meta-x-amz-encryption": "none"}, True),
        (f'"{md5(CHECK).hexdigest()}-2"', {}, False),
        (f'W/"{md5(CHECK).hexdigest()}"', {}, False),
        ("", {}, False),
    ],
)
def test_tag_of_an_object_is_its_sum_unless_encrypted_or_in_parts(tag: str, headers: dict[str, str], is_sum: bool):
    found = find_tagged_checksum({"etag": tag, **headers})
    assert found == (Checksum("md5", md5(CHECK).digest()) if is_sum else None)


def test_tag_counts_in_an_answer_to_an_upload_where_the_store_may_have_such_and_states_no_sum():
    headers = {"etag": f'"{md5(CHECK).hexdigest()}"', "x-amz-request-id": "1"}
    assert find_stored_checksum(headers, b"") == Checksum("md5", md5(CHECK).digest())
    assert find_stored_checksum(headers, b"", has_sum_tags=False) is None
    found = find_stored_checksum({**headers, "x-amz-checksum-crc32": "y/Q5Jg=="}, b"")
    assert found == Checksum("crc32", bytes.fromhex("cbf43926"))
