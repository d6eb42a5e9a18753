"""Sessions that yield the processors, by what /proc says of them."""

from pathlib import Path

import pytest

from services.embedded import keeper
from services.embedded.keeper import LOOKS_AT_NEW, YieldingSessions


class Server(YieldingSessions):
    """Sessions with made-up titles; ``nice`` : those that were given their niceness."""

    def __init__(self, folder: Path) -> None:
        super().__init__(1, ("postgres: reader_",))
        self._children, self.titles = folder / "children", dict[str, str]()

    def show(self, **titles: str) -> None:
        self.titles = {number.removeprefix("p"): title for number, title in titles.items()}
        self._children.write_text(" ".join(self.titles))

    def _is_yielding(self, child: str) -> bool:
        return self.titles[child].startswith(self._titles)


@pytest.fixture
def nice(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []

    def note(process: int) -> bool:
        found.append(process)
        return True

    monkeypatch.setattr(keeper, "_yield_processors", note)
    return found


def test_session_that_names_itself_late_yields(tmp_path: Path, nice: list[int]) -> None:
    server = Server(tmp_path)
    server.show(p7="/usr/lib/postgres -D data", p8="postgres: app_ db [local] idle")
    server.look()
    assert nice == []
    server.show(p7="postgres: reader_ab db SELECT", p8="postgres: app_ db [local] idle")
    for _ in range(LOOKS_AT_NEW):
        server.look()
    assert set(nice) == {7}


def test_new_session_with_the_number_of_an_ended_one_yields(tmp_path: Path, nice: list[int]) -> None:
    server = Server(tmp_path)
    server.show(p7="postgres: app_ db [local] idle")
    server.look()
    server.show(p7="postgres: reader_ab db SELECT")  # between two looks
    for _ in range(LOOKS_AT_NEW):
        server.look()
    assert set(nice) == {7}


def test_new_session_yields_at_the_next_look(tmp_path: Path, nice: list[int]) -> None:
    server = Server(tmp_path)
    server.show(p7="postgres: app_ db [local] idle")
    server.look()
    server.show(p7="postgres: app_ db [local] idle", p9="postgres: reader_ab db SELECT")
    server.look()
    assert nice == [9]
