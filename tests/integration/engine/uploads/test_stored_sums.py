"""Sums that an answer to an upload states: of the stored file they are compared, of the answer itself they are not."""

import hashlib
import zlib
from base64 import b64encode
from pathlib import Path

import pytest

from tests.integration.engine.uploads.test_doubtful_successes import CONTENT, Store, send

OTHER = CONTENT[:-1]
PAGE = '{"stored": true}'


def digest(algorithm: str, data: bytes) -> str:
    return b64encode(hashlib.new(algorithm, data).digest()).decode()


def state_sums(data: bytes) -> dict[str, str]:
    """Fields for each way to state a sum of stored ``data``."""
    md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
    return {
        "Repr-Digest": f"Repr-Digest: sha-256=:{digest('sha256', data)}:\r\n",
        "Digest": f"Digest: md5={digest('md5', data)}\r\n",
        "OC-Checksum": f"OC-Checksum: ADLER32:{zlib.adler32(data):08x}\r\n",
        "x-goog-hash": f"x-goog-hash: md5={digest('md5', data)}\r\n",
        "x-amz-checksum": f"x-amz-checksum-sha256: {digest('sha256', data)}\r\n",
        "tag of a store": f'ETag: "{md5}"\r\nx-amz-request-id: 1\r\n',
    }


@pytest.mark.parametrize("page", ["", PAGE], ids=["without a body", "with a body"])
@pytest.mark.parametrize("way", state_sums(b""))
@pytest.mark.parametrize("checksum", [False, True])
def test_stated_sum_of_the_stored_file_is_compared(tmp_path: Path, way: str, page: str, *, checksum: bool):
    right = Store(fields=state_sums(CONTENT)[way], page=page)
    assert send(right, tmp_path, files=3, checksum=checksum).failures == ()
    wrong = Store(fields=state_sums(OTHER)[way], page=page, lost_bytes=1)
    alone = tmp_path / "alone"
    alone.mkdir()
    (failure,) = send(wrong, alone, checksum=checksum).failures
    assert failure.reason.startswith("the server has other bytes than were sent, though it answered 201 Created")
    assert wrong.methods.count("PUT") == 1


@pytest.mark.parametrize(
    "fields",
    [
        f"Content-Digest: sha-256=:{digest('sha256', PAGE.encode())}:\r\n",
        f"Content-MD5: {digest('md5', PAGE.encode())}\r\n",
        f"Repr-Digest: sha-256=:{digest('sha256', PAGE.encode())}:\r\n",
        f"Digest: md5={digest('md5', PAGE.encode())}\r\n",
        f"Repr-Digest: sha-256=:{digest('sha256', b'unpacked')}:\r\nContent-Encoding: br\r\n",
        'ETag: "00112233445566778899aabbccddeeff"\r\n',
        'ETag: "00112233445566778899aabbccddeeff"\r\nx-amz-request-id: 1\r\nx-amz-server-side-encryption: AES256\r\n',
        (
            'ETag: "00112233445566778899aabbccddeeff"\r\nx-amz-request-id: 1\r\nServer: AmazonS3\r\n'
            "x-amz-server-side-encryption: aws:fsx\r\n"
        ),
        'ETag: "00112233445566778899aabbccddeeff"\r\nx-amz-request-id: 1\r\nx-obs-server-side-encryption: kms\r\n',
        (
            f'ETag: "00112233445566778899aabbccddeeff"\r\nx-amz-request-id: 1\r\n'
            f"x-amz-checksum-sha256: {digest('sha256', CONTENT)}\r\n"
        ),
        f"Digest: adler32={zlib.adler32(CONTENT):x}\r\n",
        f"Digest: ADLER32={zlib.adler32(CONTENT):08X}, MD5={digest('md5', CONTENT)}\r\n",
        (
            f"OC-Checksum: SHA1:{hashlib.sha1(CONTENT, usedforsecurity=False).hexdigest().upper()}"
            f" ADLER32:{zlib.adler32(CONTENT):x} MD5:{hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()}\r\n"
        ),
        'ETag: "00112233445566778899aabbccddeeff-2"\r\nx-amz-request-id: 1\r\n',
        "x-amz-checksum-crc32: 1zXLUw==-2\r\n",
        "OC-Checksum: SHA3-256:00\r\n",
        "Repr-Digest: nonsense\r\n",
    ],
)
def test_sums_of_something_else_are_no_failure(tmp_path: Path, fields: str):
    server = Store(fields=fields, page=PAGE)
    assert send(server, tmp_path, files=3).failures == ()


@pytest.mark.parametrize("field", ["Repr-Digest: sha-256", "Digest: SHA-256"])
def test_sum_of_an_empty_answer_says_nothing_of_the_file(tmp_path: Path, field: str):
    value = digest("sha256", b"")
    server = Store(fields=f"{field}={value}\r\n" if field.startswith("D") else f"{field}=:{value}:\r\n")
    assert send(server, tmp_path, files=3).failures == ()
