"""Single runs of a wide-area cell: each tool moves all files, in either direction and over TLS."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.support.direction import Direction
from benchmarks.testbed.data_sets import Kind
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.peers import Peer
from benchmarks.wan.arena import FILES, Arena, Contender, set_up_arena
from benchmarks.wan.cells import Cell
from benchmarks.wan.knowledge import Knowledge
from tests.conditions import stretched
from tradewind.parameters import Parameters

PATH = PathSpec(rate_bps=50e6, rtt_s=0.02)
SIZES = {Kind.HTML: (20_000, 40_000), Kind.IMAGE: (150_000, 250_000), Kind.VIDEO: (1_000_000,)}
LEAST_BYTES = 800_000
SETTING = Parameters(concurrency=3, parallelism=2, pipelining=2)
HASHES = {"engine": "a", "testbed": "b", "uploads": "c"}


@pytest.fixture
def set_up() -> Iterator[Callable[..., Arena]]:
    """Set a cell up for the length of the test, in a folder that other accounts may enter."""
    with tempfile.TemporaryDirectory(prefix="transfers-") as name, ExitStack() as standing:
        Path(name).chmod(0o755)

        def set_up(cell: Cell, *, least_bytes: float = LEAST_BYTES) -> Arena:
            return standing.enter_context(
                set_up_arena(
                    cell,
                    SIZES,
                    at_least_bytes=least_bytes,
                    seed=1,
                    folder=Path(name),
                    knowledge=Knowledge.of(cell, SIZES, 1, hashes=HASHES, folder=Path(name)),
                    prioritised=False,
                )
            )

        yield set_up


@pytest.mark.parametrize(
    ("direction", "over_tls"),
    [(Direction.UP, False), (Direction.DOWN, True), (Direction.UP, True)],
    ids=["up", "down-tls", "up-tls"],
)
def test_each_tool_moves_all_files(set_up: Callable[..., Arena], direction: Direction, over_tls: bool) -> None:
    arena = set_up(Cell("given", Kind.IMAGE, PATH, direction, over_tls))

    def run(peer: Peer, setting: Parameters | None) -> tuple[int | None, int]:
        done = arena.run(Contender(name=peer.name, peer=peer, setting=setting), cut_s=stretched(60.0))
        carried = done.path.get_way(direction).bytes
        assert sum(arena.sizes) < carried < 2 * sum(arena.sizes)
        return done.exit_code, done.bytes_done

    tools = (arena.cell.engine, *arena.cell.peers)
    runs = {(tool.name, setting): run(tool, setting) for tool in tools for setting in (None, SETTING)}
    assert runs == dict.fromkeys(runs, (0, sum(arena.sizes)))


def test_upload_that_is_cut_counts_what_has_come_to_the_server(set_up: Callable[..., Arena]) -> None:
    arena = set_up(Cell("given", Kind.IMAGE, PathSpec(rate_bps=2e6, rtt_s=0.02), direction=Direction.UP))
    for peer in (arena.cell.engine, *arena.cell.peers):
        run = arena.run(
            Contender(name=peer.name, peer=peer),
            cut_s=stretched(60.0),
            make_judge=lambda _: lambda _, carried: carried.up.bytes > 400_000,
        )
        assert (run.cut, run.exit_code) == (True, None)
        assert 0 < run.bytes_done < sum(arena.sizes)


def test_lesson_of_an_upload_is_logged_as_one_to_the_path(set_up: Callable[..., Arena], tmp_path: Path) -> None:
    arena = set_up(Cell("far", Kind.HTML, PATH, Direction.UP))
    log = tmp_path / "lesson.ndjson"
    lesson = Contender(name="tradewind", peer=arena.cell.engine, setting=SETTING)
    run = arena.run_lesson(lesson, cut_s=stretched(60.0), log=log)
    assert (run.exit_code, run.bytes_done) == (0, sum(arena.lesson_sizes))
    [record] = [json.loads(line) for line in log.read_text().splitlines()]
    assert (record["direction"], record["source"], record["destination"]) == ("upload", "client", "far")
    assert record["parameters"].items() >= {"concurrency": 3, "pipelining": 2}.items()
    assert len(list((arena.folder / FILES).iterdir())) == len(arena.sizes)
