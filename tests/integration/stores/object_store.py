"""An object store in memory, which may refuse, forget or lose, as a test has it."""

import asyncio
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import md5
from urllib.parse import parse_qs, unquote
from zlib import crc32

from tests.integration.engine.servers.stream_server import RequestHead, StreamServer, read_head

Fault = Callable[[RequestHead, int], "tuple[str, str] | None"]
"""Status line and error code that a request gets instead; the second argument counts requests of its kind."""

LOST_BEHIND = ("lost", "")
"""The fault of an answer that is lost after the store has done what was asked."""

_DESCRIBES = re.compile("content-type$|x-amz-meta-|x-amz-storage-class$")
_USUAL = {"content-type": "application/octet-stream"}
_NAMED = ("uploads", "uploadId", "partNumber")


@dataclass(eq=False)
class ObjectStore(StreamServer):
    """One bucket at ``/data/``.

    Attributes
    ----------
    objects : content by key. ``tags`` : of those that were joined.
    uploads : parts by number of unfinished uploads, by id.
    properties : headers that describe an object, by key; those of unfinished uploads by id, usual ones where not set.
    damage : what becomes of a body that comes with the n-th request of its kind, though the store answers with success.
    stated : fields of the answer to a body that is stored; ``joined_sum`` : that the answer to joining states.
    forgotten : how many of the last parts an object lacks once it is joined; ``states_tag`` : the answer has its tag.
    shows_sizes : answers to HEAD have the size of an object.
    requests : methods with the names of the subresources that they ask for.
    """

    fault: Fault = lambda _head, _count: None
    damage: Callable[[bytes, int], bytes] | None = None
    stated: Callable[[bytes], dict[str, str]] = lambda _body: {}
    joined_sum: str = ""
    forgotten: int = 0
    states_tag: bool = False
    shows_sizes: bool = False
    objects: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    properties: dict[str, dict[str, str]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (head := await read_head(reader)) is not None:
                body = await reader.readexactly(int(head.headers.get("content-length", "0")))
                answer = self._answer(head, body)
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _answer(self, head: RequestHead, body: bytes) -> bytes | None:
        path, _, query = head.target.partition("?")
        names = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
        kind = " ".join([head.method, *(name for name in _NAMED if name in names)])
        self.requests.append(kind)
        fault = self.fault(head, self.requests.count(kind))
        if fault == LOST_BEHIND:
            self._do(kind, unquote(path.removeprefix("/data/")), names, body, head)
            return None
        if fault is not None:
            if fault[1] == "NoSuchUpload":
                self.uploads.clear()
            return None if not fault[0] else _write(fault[0], f"<Error><Code>{fault[1]}</Code></Error>")
        if self.damage is not None and head.method == "PUT":
            damaged = self.damage(body, self.requests.count(kind))
            return self._do(kind, unquote(path.removeprefix("/data/")), names, damaged, head)
        sum_ = head.headers.get("x-amz-checksum-crc32")
        if sum_ is not None and sum_ != b64encode(crc32(body).to_bytes(4, "big")).decode():
            return _write("400 Bad Request", "<Error><Code>BadDigest</Code></Error>")
        return self._do(kind, unquote(path.removeprefix("/data/")), names, body, head)

    def _do(self, kind: str, key: str, names: dict[str, str], body: bytes, head: RequestHead) -> bytes:
        described = {name: value for name, value in head.headers.items() if _DESCRIBES.match(name)}
        upload = self.uploads.get(names.get("uploadId", ""))
        if "uploadId" in names and upload is None:
            return _write("404 Not Found", "<Error><Code>NoSuchUpload</Code></Error>")
        match kind:
            case "PUT":
                self.objects[key], self.properties[key] = body, described
                return _write("200 OK", "", **{"ETag": _tag(body), **self.stated(body)})
            case "HEAD" if self.shows_sizes and key in self.objects:
                return f"HTTP/1.1 200 OK\r\nContent-Length: {len(self.objects[key])}\r\n\r\n".encode()
            case "HEAD":
                if key not in self.tags:
                    return _write("404 Not Found", "")
                return _write("200 OK", "", ETag=self.tags[key], **self.properties[key])
            case "POST uploads":
                self.uploads[f"id-{len(self.requests)}"] = {}
                self.properties[f"id-{len(self.requests)}"] = described
                return _write("200 OK", f"<R><UploadId>{next(reversed(self.uploads))}</UploadId></R>")
            case "GET uploads":
                rows = "".join(
                    f"<Upload><Key>{names['prefix']}</Key><UploadId>{each}</UploadId></Upload>" for each in self.uploads
                )
                return _write("200 OK", f"<R>{rows}</R>")
        assert upload is not None
        match kind:
            case "PUT uploadId partNumber":
                upload[int(names["partNumber"])] = body
                return _write("200 OK", "", **{"ETag": _tag(body), **self.stated(body)})
            case "GET uploadId":
                parts = (
                    (number, part)
                    for number, part in upload.items()
                    if number > int(names.get("part-number-marker", "0"))
                )
                page = sorted(parts)[:2]
                rows = "".join(
                    f"<Part><PartNumber>{number}</PartNumber><Size>{len(part)}</Size><ETag>{_tag(part)}</ETag></Part>"
                    for number, part in page
                )
                is_cut = bool(page) and page[-1][0] < max(upload)
                rows += (
                    f"<IsTruncated>true</IsTruncated><NextPartNumberMarker>{page[-1][0]}</NextPartNumberMarker>"
                    if is_cut
                    else ""
                )
                return _write("200 OK", f"<R>{rows}</R>")
            case "POST uploadId":
                numbers = [int(each) for each in re.findall(rb"<PartNumber>(\d+)", body)]
                numbers = numbers[: len(numbers) - self.forgotten]
                self.objects[key] = b"".join(upload[number] for number in numbers)
                digests = b"".join(bytes.fromhex(_tag(upload[number])[1:-1]) for number in numbers)
                self.tags[key] = f'{_tag(digests)[:-1]}-{len(numbers)}"'
                self.properties[key] = self.properties.get(names["uploadId"], _USUAL)
                del self.uploads[names["uploadId"]]
                joined = f"<ChecksumCRC32>{self.joined_sum}</ChecksumCRC32>"
                joined += f"<ETag>{self.tags[key]}</ETag>" if self.states_tag else ""
                return _write("200 OK", f"<CompleteMultipartUploadResult>{joined}</CompleteMultipartUploadResult>")
        del self.uploads[names["uploadId"]]
        return _write("204 No Content", "")


def _tag(body: bytes) -> str:
    return f'"{md5(body, usedforsecurity=False).hexdigest()}"'


def _write(status: str, document: str, **fields: str) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    length = "" if status.startswith("204") else f"Content-Length: {len(document)}\r\n"
    return f"HTTP/1.1 {status}\r\n{length}{lines}\r\n{document}".encode()
