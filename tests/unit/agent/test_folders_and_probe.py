import errno
import os
import socket
from itertools import count
from pathlib import Path

import pytest

from tradewind_agent.folders import (
    build_config_folder,
    build_state_folder,
    find_home,
    make_private,
    replace_durably,
)
from tradewind_agent.session.path_probe import measure_connect_s


def test_folders_are_where_the_desktop_standard_puts_them(tmp_path):
    assert build_config_folder({"HOME": "/home/u"}).as_posix() == "/home/u/.config/tradewind"
    assert build_state_folder({"HOME": "/home/u"}).as_posix() == "/home/u/.local/state/tradewind"
    assert build_state_folder({"XDG_STATE_HOME": str(tmp_path)}) == tmp_path / "tradewind"


def test_user_without_a_home_has_files_at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", fail)
    assert build_config_folder({}).as_posix() == "/.config/tradewind"
    assert build_state_folder({"HOME": "/home/u"}).as_posix() == "/home/u/.local/state/tradewind"


@pytest.mark.parametrize("inside", ["", "deeper"])
def test_home_of_another_user_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str) -> None:
    closed = tmp_path / "closed"
    (closed / "deeper").mkdir(parents=True)
    environ = {"HOME": str(closed / inside)}
    assert find_home(environ) == closed / inside
    monkeypatch.setattr(os, "access", lambda *_: False)  # as it is to other users; the superuser may look everywhere
    if inside:
        monkeypatch.setattr(Path, "is_dir", refuse)
    assert build_state_folder(environ).as_posix() == "/.local/state/tradewind"
    assert build_config_folder(environ | {"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "tradewind"


def refuse(path: Path) -> bool:
    raise PermissionError(errno.EACCES, "Permission denied", str(path))


def test_a_folder_open_to_others_is_closed(tmp_path):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o755)
    make_private(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_file_that_cannot_be_replaced_leaves_no_draft(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        replace_durably(tmp_path / "taken", b"content")
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]


def test_the_least_of_the_handshakes_is_the_round_trip():
    ticks = iter((0.0, 0.3, 1.0, 1.1, 2.0, 2.2))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = measure_connect_s("127.0.0.1", listener.getsockname()[1], clock_s=lambda: next(ticks))
    assert found == pytest.approx(0.1)


def test_a_host_that_cannot_be_reached_has_no_round_trip():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert measure_connect_s("127.0.0.1", port) is None
    assert measure_connect_s("no.such.host.invalid", 80, clock_s=count().__next__) is None
