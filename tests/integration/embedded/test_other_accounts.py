"""What other accounts of the machine get of the embedded servers: nothing."""

import grp
import os
import pwd
import stat
import subprocess
from functools import partial
from pathlib import Path

import psycopg
import pytest

from services.embedded import account
from services.embedded.account import (
    Account,
    create_private_folder,
    find_server_account,
    hand_over,
    make_reachable_folder,
    open_private,
)
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


@ONLY_ROOT_CHANGES_ACCOUNTS
def test_target_of_a_link_is_not_handed_over(tmp_path):
    nobody = pwd.getpwnam("nobody")
    folder, outside = tmp_path / "data.partial", tmp_path / "outside"
    for each in (folder / "base", outside):
        each.mkdir(parents=True)
        (each / "file").touch()
    (folder / "link").symlink_to(outside)
    hand_over(folder, 0, Account(name="nobody", uid=nobody.pw_uid, gid=nobody.pw_gid, is_caller=False))
    given = [folder, folder / "base", folder / "base" / "file", folder / "link"]
    assert {path.lstat().st_uid for path in given} == {nobody.pw_uid}
    assert {path.lstat().st_uid for path in (outside, outside / "file")} == {0}


@pytest.fixture
def hidden(tmp_path, monkeypatch):
    """A folder that no other account reaches, next to the places that root's servers may take instead."""
    for name, place, mode in (("lib", "SYSTEM_FOLDER", 0o755), ("tmp", "PUBLIC_FOLDER", 0o1777)):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)
        monkeypatch.setattr(account, place, tmp_path / name)
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home" / "checkout" / "var" / "postgres"


@ONLY_ROOT_CHANGES_ACCOUNTS
def test_server_that_cannot_reach_its_folder_goes_where_nobody_else_can_be_first(hidden, tmp_path):
    nobody = pwd.getpwnam("nobody")
    server_account = Account(name="nobody", uid=nobody.pw_uid, gid=nobody.pw_gid, is_caller=False)
    found = make_reachable_folder(hidden, server_account)
    assert (found.parent, found.stat().st_uid) == (tmp_path / "lib", 0)
    trap = tmp_path / "tmp" / found.name
    trap.mkdir()
    os.chown(trap, nobody.pw_uid, nobody.pw_gid)
    assert make_reachable_folder(hidden, server_account) == found
    trap.rmdir()
    trap.symlink_to(tmp_path / "home")
    assert make_reachable_folder(hidden, server_account) == found


@ONLY_ROOT_CHANGES_ACCOUNTS
def test_folder_of_an_earlier_version_in_the_public_place_stays_in_use(hidden, tmp_path):
    nobody = pwd.getpwnam("nobody")
    server_account = Account(name="nobody", uid=nobody.pw_uid, gid=nobody.pw_gid, is_caller=False)
    name = make_reachable_folder(hidden, server_account).name
    (tmp_path / "tmp" / name).mkdir()
    assert make_reachable_folder(hidden, server_account) == tmp_path / "tmp" / name


@pytest.fixture
def make_by(monkeypatch, tmp_path):
    """Let a shell script make the account; return its name, and the file of the arguments that the script took."""

    def prepare(script: str, *, group: str = "") -> tuple[str, Path]:
        name, calls = group or f"tradewind-{tmp_path.name}"[:31], tmp_path / "calls"
        program = tmp_path / "maker"
        program.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n{script}\n')
        program.chmod(0o755)
        monkeypatch.setattr(account, "UNPRIVILEGED", name)
        monkeypatch.setattr(account, "MAKERS", (account.Maker((str(program),), ("--user-group",), ("--gid",)),))
        account._make_or_replace_account.cache_clear()
        return name, calls

    yield prepare
    account._make_or_replace_account.cache_clear()


def test_a_system_that_can_make_no_account_runs_servers_as_nobody_and_warns_once(monkeypatch, capsys):
    monkeypatch.setattr(account, "UNPRIVILEGED", "tradewind-missing")
    monkeypatch.setattr(account, "MAKERS", (account.Maker(("no-such-program",), (), ()),))
    assert {find_server_account(0).name for _ in range(2)} == {"nobody"}
    warned = capsys.readouterr().err
    assert warned.count("\n") == 1
    assert "neither useradd nor adduser" in warned
    assert "useradd --system tradewind-missing" in warned


def test_a_system_without_nobody_too_gets_an_instruction(monkeypatch, make_by):
    name, _ = make_by("exit 1")
    monkeypatch.setattr(account, "SHARED", "tradewind-nobody")
    with pytest.raises(CannotStart, match=rf"useradd --system {name}"):
        find_server_account(0)


def test_a_lasting_failure_to_make_the_account_is_not_repeated(make_by, capsys):
    _, calls = make_by('echo "failure while writing changes to /etc/passwd" >&2; exit 1')
    find_server_account(0)
    assert len(calls.read_text().splitlines()) == 1
    assert "failure while writing changes" in capsys.readouterr().err


@pytest.mark.parametrize("is_read_only", [False, True])
def test_a_locked_user_database_is_waited_for_unless_it_is_read_only(monkeypatch, tmp_path, make_by, is_read_only):
    _, calls = make_by('echo "useradd: cannot lock /etc/passwd; try again later." >&2; exit 1')
    monkeypatch.setattr(account, "USER_DATABASE", Path("/proc/self/missing") if is_read_only else tmp_path)
    monkeypatch.setattr(account, "MAKING_PATIENCE_S", 0.3)
    find_server_account(0)
    assert (len(calls.read_text().splitlines()) == 1) == is_read_only


def test_the_account_joins_a_group_of_its_name_that_exists(make_by):
    group = next(
        each.gr_name for each in grp.getgrall() if each.gr_name not in {user.pw_name for user in pwd.getpwall()}
    )
    _, calls = make_by("exit 1", group=group)
    find_server_account(0)
    assert calls.read_text().split() == ["--gid", group, group]


@ONLY_ROOT_CHANGES_ACCOUNTS
def test_data_of_an_account_that_is_gone_stay_usable_as_nobody_and_go_back(server_folder, monkeypatch, make_by):
    with postgres(server_folder) as server, psycopg.connect(server.url()) as connection:
        connection.execute("CREATE TABLE stored AS SELECT 7 AS value")
    uid = next(uid for uid in range(54321, 65000) if is_free(uid))
    for path in [server.folder / "data", *(server.folder / "data").rglob("*"), server.folder / "socket"]:
        os.lchown(path, uid, uid)
    make_by("exit 1")
    with postgres(server_folder) as server, psycopg.connect(server.url()) as connection:
        assert server.account.name == "nobody"
        assert connection.execute("SELECT value FROM stored").fetchone() == (7,)
    monkeypatch.undo()
    with postgres(server_folder) as server, psycopg.connect(server.url()) as connection:
        assert server.account.name == "tradewind"
        assert connection.execute("SELECT value FROM stored").fetchone() == (7,)


def is_free(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return True
    return False


@ONLY_ROOT_CHANGES_ACCOUNTS
def test_a_folder_in_a_public_place_is_not_handed_over(server_folder):
    public = server_folder.parent
    public.chmod(0o1777)
    trap = public / "socket"
    trap.mkdir()
    os.chown(trap, pwd.getpwnam("nobody").pw_uid, -1)
    with pytest.raises(CannotStart, match="belongs to uid"):
        create_private_folder(trap, find_server_account(0))
    assert trap.stat().st_uid == pwd.getpwnam("nobody").pw_uid


@ONLY_ROOT_CHANGES_ACCOUNTS
def test_a_hand_over_follows_no_link_and_leaves_files_of_others(server_folder):
    outside = server_folder.parent / "outside"
    outside.mkdir()
    former = pwd.getpwnam("nobody").pw_uid
    data = server_folder.parent / "data"
    (data / "base").mkdir(parents=True)
    (outside / "file").touch()
    (data / "base" / "link").symlink_to(outside)
    (data / "base" / "hard").hardlink_to(outside / "file")
    for path in (outside, data, data / "base"):
        os.chown(path, former, -1)
    os.lchown(data / "base" / "link", former, -1)
    server_account = find_server_account(0)
    create_private_folder(data, server_account)
    assert [path.lstat().st_uid for path in (data, data / "base", data / "base" / "link")] == [server_account.uid] * 3
    assert [path.stat().st_uid for path in (outside, outside / "file")] == [former, 0]


def test_a_private_folder_that_others_can_enter_is_closed(server_folder):
    server_account = find_server_account(os.geteuid())
    folder = server_folder.parent / "socket"
    create_private_folder(folder, server_account)
    folder.chmod(0o777)
    create_private_folder(folder, server_account)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_link_in_the_place_of_a_private_file_is_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"):
        open_private(tmp_path / "link", "w")
    assert not (tmp_path / "target").exists()


@ONLY_ROOT_CHANGES_ACCOUNTS
@pytest.mark.parametrize("kind", ["postgres", "valkey"])
def test_an_ordinary_user_in_another_group_than_that_of_its_entry_runs_servers(
    server_folder, use_elsewhere, as_other_user, kind
):
    home = server_folder.parent / "home"
    home.mkdir()
    home.chmod(0o777)
    prefix = tuple("--regid=0" if option.startswith("--regid") else option for option in as_other_user)
    user = use_elsewhere(kind, home / "server", prefix=prefix, HOME=str(home))
    assert "://" in user.stdout.readline(), user.stderr.read()
    user.stdin.close()
    assert user.wait() == 0
    with_group_0 = [path for path in (home / "server").iterdir() if path.stat().st_gid == 0]
    assert with_group_0


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
