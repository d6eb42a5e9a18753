"""A server of files, as drawn."""

import asyncio
from collections.abc import Mapping, Sequence
from random import Random

from benchmarks.fuzz.behaviour import Behaviour, Framing, Ranges
from benchmarks.fuzz.random_servers import RandomServer, Request, frame_answer, make_head, send
from benchmarks.fuzz.served_files import ServedFile


class RandomOrigin(RandomServer):
    """Serves files by their names, or redirects to addresses that expire."""

    def __init__(self, behaviour: Behaviour, files: Mapping[str, ServedFile], draw: Random) -> None:
        super().__init__(behaviour, draw)
        self._files = files
        self._uses: dict[str, int] = {}

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        file = self._find_file(request.target)
        if file is None:
            return await send(writer, make_head(404, {"Content-Length": "0"}))
        if self.behaviour.redirects and not request.target.startswith("/signed/"):
            place = f"/signed/{len(self._uses)}{request.target}"
            self._uses[place] = self.behaviour.target_uses
            return await send(writer, make_head(302, {"Content-Length": "0", "Location": place}))
        return await self._send_file(file, request, writer)

    def _find_file(self, target: str) -> ServedFile | None:
        """Return the file of a target; ``None`` where there is none, or where the target has expired."""
        if target.startswith("/signed/"):
            self._uses[target] = self._uses.get(target, 0) - 1
            if self._uses[target] < 0:
                return None
        file = self._files.get(target.rpartition("/")[2])
        return None if file is None or file.is_gone else file

    async def _send_file(self, file: ServedFile, request: Request, writer: asyncio.StreamWriter) -> bool:
        version = file.get_version(self.draw)
        first, last, status = self._choose_range(request, version.content, version.validators)
        if status == 416:
            return await send(
                writer,
                make_head(416, {"Content-Length": "0", "Content-Range": f"bytes */{len(version.content)}"}),
            )
        body = version.content[first : last + 1]
        headers = dict(version.fields)
        if status == 206:
            headers["Content-Range"] = f"bytes {first}-{last}/{len(version.content)}"
        return await self._send_body(headers, status, body, file, writer)

    def _choose_range(self, request: Request, content: bytes, validators: Sequence[str]) -> tuple[int, int, int]:
        """Return the first and last byte of the answer, and its status."""
        text, everything = request.fields.get("range", ""), (0, len(content) - 1, 200)
        condition = request.fields.get("if-range")
        way = self.behaviour.ranges
        if not text.startswith("bytes=") or way is Ranges.IGNORED or (condition and condition not in validators):
            return everything
        begin, _, end = text.removeprefix("bytes=").partition("-")
        first, last = int(begin), min(int(end or len(content)), len(content) - 1)
        if way is Ranges.REFUSED or first >= len(content):
            return 0, -1, 416
        if way is Ranges.SHORT:
            last = self.draw.randint(first, last)
        elif way is Ranges.SHIFTED and last + 1 < len(content):
            first, last = first + 1, last + 1
        return first, last, 206

    async def _send_body(
        self, headers: dict[str, str], status: int, body: bytes, file: ServedFile, writer: asyncio.StreamWriter
    ) -> bool:
        framing = self.behaviour.framing
        is_cut = bool(body) and self.draw.random() < self.behaviour.cut
        if framing is Framing.UNTIL_CLOSE and (status == 206 or not file.is_size_known):
            framing = Framing.LENGTH if status == 206 else framing
            is_cut = is_cut and framing is Framing.LENGTH  # nobody could tell that something is missing
        sent_bytes = self.draw.randrange(len(body)) if is_cut else None
        answer = frame_answer(status, headers, body, framing, sent_bytes=sent_bytes)
        return await send(writer, answer, ends=is_cut or framing is Framing.UNTIL_CLOSE)
