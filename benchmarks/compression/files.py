"""Make files to pack: logs and sensor data from a seed, sources and programs of this machine, random bytes."""

import io
import math
import sys
import sysconfig
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random

from tradewind.compression.content import Kind

SEED = 3
KINDS: Mapping[str, Kind] = {
    "log": Kind.TEXT,
    "sensors": Kind.TABLE,
    "sources": Kind.ARCHIVE,
    "program": Kind.PROGRAM,
    "random": Kind.BINARY,
}


def make_content(name: str, size_bytes: int, seed: int = SEED) -> bytes:
    """Return ``size_bytes`` of the named content; other seeds give other files of the same kind."""
    return _MAKERS[name](size_bytes, seed)


def _make_log(size_bytes: int, seed: int) -> bytes:
    rng = Random(seed)
    hosts = [f"dtn{rng.randrange(40):02d}.site{rng.randrange(9)}.example.org" for _ in range(60)]
    paths = [f"/data/run{rng.randrange(10**4):05d}/evt_{rng.randrange(10**6):06d}.root" for _ in range(3000)]

    def generate_lines() -> Iterator[str]:
        at_s = 1.7e9
        while True:
            at_s += rng.expovariate(30)
            yield (
                f"{at_s:.3f} {rng.choice(hosts)} GET {rng.choice(paths)} {rng.choice((200, 200, 200, 206, 404))} "
                f"bytes={int(rng.lognormvariate(14, 2))} took={rng.expovariate(0.2):.4f} "
                f"cc={rng.choice((1, 2, 4, 8))} agent=tradewind/0.1\n"
            )

    return _fill(generate_lines(), size_bytes)


def _make_sensors(size_bytes: int, seed: int) -> bytes:
    rng = Random(seed)

    def generate_lines() -> Iterator[str]:
        yield "time_s,x,y,z,temperature\n"
        row, temperature = 0, 21.0
        while True:
            row += 1
            temperature += rng.gauss(0, 0.004)
            swing = math.sin(row / 25)
            x, y = round(512 + 40 * swing + rng.gauss(0, 2)), round(498 + 12 * swing + rng.gauss(0, 2))
            yield f"{row / 100:.2f},{x},{y},{round(730 + rng.gauss(0, 2))},{temperature:.2f}\n"

    return _fill(generate_lines(), size_bytes)


def _fill(lines: Iterator[str], size_bytes: int) -> bytes:
    made = io.BytesIO()
    while made.tell() < size_bytes:
        made.write(next(lines).encode())
    return made.getvalue()[:size_bytes]


def _make_sources(size_bytes: int, seed: int) -> bytes:
    """Return a tar of modules of the standard library, in an order of the seed's."""
    modules = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    modules += sorted(Path(sysconfig.get_paths()["stdlib"]).glob("[a-z]*/*.py"))
    Random(seed).shuffle(modules)
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for module in modules:
            if made.tell() >= size_bytes:
                break
            tar.add(module, arcname=str(module.relative_to(module.parents[1])))
    return _repeat(made.getvalue(), size_bytes)


def _make_program(size_bytes: int, seed: int) -> bytes:
    """Return the interpreter and libraries, one after the other."""
    parts = [Path(sys.executable).resolve(), *sorted(Path("/usr/lib").glob("*-linux-gnu/*.so*"))]
    rest = parts[1:]
    Random(seed).shuffle(rest)
    made = io.BytesIO()
    for part in (parts[0], *rest) if seed == SEED else (*rest, parts[0]):
        if made.tell() >= size_bytes:
            break
        if part.is_file():
            made.write(part.read_bytes())
    return _repeat(made.getvalue(), size_bytes)


def _make_random(size_bytes: int, seed: int) -> bytes:
    return Random(seed).randbytes(size_bytes)


def _repeat(made: bytes, size_bytes: int) -> bytes:
    return (made * -(-size_bytes // max(len(made), 1)))[:size_bytes]


_MAKERS: Mapping[str, Callable[[int, int], bytes]] = {
    "log": _make_log,
    "sensors": _make_sensors,
    "sources": _make_sources,
    "program": _make_program,
    "random": _make_random,
}
