"""What other accounts of the machine get of the embedded servers: nothing."""

import os
import pwd
import stat
import subprocess
from functools import partial
from pathlib import Path

import psycopg
import pytest

from services.embedded import account
from services.embedded.account import find_server_account, open_private
from services.embedded.errors import CannotStart
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey

ONLY_ROOT_CHANGES_ACCOUNTS = pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's server is that user's")

postgres = partial(EmbeddedPostgres, durable=False)


def list_open_to_others(folder: Path) -> list[str]:
    """Names of files that others may read or write, and of folders that they may list."""
    found = []
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        is_closed_above = any(place.stat().st_mode & 0o001 == 0 for place in path.parents if place != folder.parent)
        if not is_closed_above and not stat.S_ISLNK(mode) and mode & (0o066 if path.is_dir() else 0o077):
            found.append(f"{path.relative_to(folder)} {stat.filemode(mode)}")
    return found


def test_others_can_read_and_lock_no_file_of_the_servers(server_folder):
    for server in (postgres(server_folder, tcp=True), EmbeddedValkey(server_folder.parent / "valkey")):
        with server:
            assert list_open_to_others(server.folder) == []


def test_files_that_an_earlier_version_left_open_are_closed(server_folder):
    with postgres(server_folder, tcp=True) as server:
        names = ("start.lock", "users.lock", "keeper.lock", "pg_hba.conf", "pg_ident.conf", "port")
    for name in names:
        (server.folder / name).chmod(0o644)
    with postgres(server_folder, tcp=True):
        assert list_open_to_others(server.folder) == []


@ONLY_ROOT_CHANGES_ACCOUNTS
@pytest.mark.parametrize("other", ["nobody", "tradewind"])
def test_no_program_of_another_account_gets_into_the_database(server_folder, other):
    with postgres(server_folder) as server:
        entry = pwd.getpwnam(other)
        command = [str(server.program("psql")), server.url(), "-Atc", "SELECT 1"]
        identity = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        ran = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, **identity)
        assert (ran.stdout, ran.returncode) == ("", 2)
        with psycopg.connect(server.url()) as connection:  # root itself
            assert connection.execute("SELECT 1").fetchone() == (1,)


@ONLY_ROOT_CHANGES_ACCOUNTS
def test_servers_of_root_have_an_account_that_no_other_program_has(server_folder):
    with postgres(server_folder) as server:
        owner = pwd.getpwuid(Path(f"/proc/{server.process_id}").stat().st_uid)
        assert owner.pw_name == "tradewind"
        assert owner.pw_shell in ("/bin/false", "/usr/sbin/nologin")


@ONLY_ROOT_CHANGES_ACCOUNTS
def test_a_cluster_of_the_former_account_is_handed_over(server_folder):
    with postgres(server_folder) as server, psycopg.connect(server.url()) as connection:
        connection.execute("CREATE TABLE stored AS SELECT 7 AS value")
    former = pwd.getpwnam("nobody")
    for path in [server.folder / "data", *(server.folder / "data").rglob("*"), server.folder / "socket"]:
        os.lchown(path, former.pw_uid, former.pw_gid)
    with postgres(server_folder) as server, psycopg.connect(server.url()) as connection:
        assert connection.execute("SELECT value FROM stored").fetchone() == (7,)
        assert (server.folder / "data" / "base").stat().st_uid == server.account.uid


def test_a_system_that_can_make_no_account_gets_an_instruction(monkeypatch):
    monkeypatch.setattr(account, "UNPRIVILEGED", "tradewind-missing")
    monkeypatch.setattr(account, "MAKERS", (("no-such-program",),))
    with pytest.raises(CannotStart, match=r"useradd --system tradewind-missing"):
        find_server_account(0)


def test_the_account_is_not_made_for_an_ordinary_user():
    entry = pwd.getpwnam("nobody")
    assert find_server_account(entry.pw_uid).is_caller


def test_a_private_file_is_closed_to_others_whatever_the_mask(tmp_path):
    before = os.umask(0)
    try:
        open_private(tmp_path / "new", "w").close()
    finally:
        os.umask(before)
    (tmp_path / "old").touch(mode=0o644)
    open_private(tmp_path / "old", "a").close()
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
