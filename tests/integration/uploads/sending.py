"""What the tests of uploads send, and what they look at afterwards."""

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.endings import Program
from tests.integration.serve_files.serving import Answer, Wire

CONTENT = random.Random(3).randbytes(5_300_000)
PART = 700_000
PARTS = [(first, min(first + PART, len(CONTENT)) - 1) for first in range(0, len(CONTENT), PART)]


def send_part(
    wire: Wire,
    part: tuple[int, int],
    target: str = "/in/file",
    content: bytes = CONTENT,
    upload: str = "u1",
    **more: str,
) -> Answer:
    first, last = part
    fields = {"Content_Range": f"bytes {first}-{last}/{len(content)}", "Tradewind_Upload": upload} | more
    return wire.ask("PUT", target, content[first : last + 1], **fields)


def files_in(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def bytes_on_disk(root: Path) -> int:
    return sum(512 * path.lstat().st_blocks for path in root.rglob("*") if path.is_file())


@contextmanager
def server_process(root: Path, prelude: str = "") -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    program = (
        "import resource, sys; from pathlib import Path\n"
        "from tradewind_agent.serve import ServeOptions, serve_forever\n"
        f"{prelude}\n"
        "options = ServeOptions(root=Path(sys.argv[1]), writable=True)\n"
        "serve_forever(options, on_ready=lambda server: print(server.port, flush=True))"
    )
    command = [sys.executable, "-c", program, str(root)]
    with Program(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process
        finally:
            process.terminate()


def received(answer: Answer) -> list[tuple[int, int]]:
    pairs = (text.split("-") for text in answer.headers["tradewind-received"].split(","))
    return [(int(first), int(last)) for first, last in pairs]
