import os
import shutil
import sys
from functools import partial

import psutil
import psycopg
import pytest

from services.embedded.account import find_server_account
from services.embedded.errors import CannotStart
from services.embedded.postgres import EmbeddedPostgres, choose_shared_buffers_bytes
from tests.conditions import eventually
from tests.endings import Program, kill_outright
from tradewind.units import GIB, MIB

postgres = partial(EmbeddedPostgres, durable=False)


def descendants(process_id):
    process = psutil.Process(process_id)
    return [process, *process.children(recursive=True)]


def test_a_fresh_server_has_a_utf8_database_that_sorts_by_code_point():
    with EmbeddedPostgres.temporary(durable=False) as server, psycopg.connect(server.url()) as connection:
        row = connection.execute(
            "SELECT current_database(), pg_encoding_to_char(encoding), datlocale, current_setting('server_version_num')"
            " FROM pg_database WHERE datname = current_database()"
        ).fetchone()
        assert row[:3] == ("tradewind", "UTF8", "C.UTF-8")
        assert row[3].startswith("18")
        assert connection.execute("SELECT 'é' < 'z', uuidv7() IS NOT NULL").fetchone() == (False, True)


@pytest.mark.parametrize(
    ("memory_bytes", "buffers_bytes"), [(GIB, 128 * MIB), (4 * GIB, 256 * MIB), (64 * GIB, 512 * MIB)]
)
def test_pages_in_memory_grow_with_the_host_within_bounds(monkeypatch, memory_bytes, buffers_bytes):
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": memory_bytes // 4096}.__getitem__)
    assert choose_shared_buffers_bytes() == buffers_bytes


def test_a_server_has_the_page_cache_chosen_for_its_host():
    with EmbeddedPostgres.temporary(durable=False) as server, psycopg.connect(server.url()) as connection:
        (shown,) = connection.execute("SELECT pg_size_bytes(current_setting('shared_buffers'))").fetchone()
        assert shown == choose_shared_buffers_bytes() // MIB * MIB


def test_a_stop_leaves_no_process_and_no_temporary_folder(assert_all_end):
    with EmbeddedPostgres.temporary(durable=False) as server:
        keeper = psutil.Process(server.process_id).parent()
        processes = [keeper, *keeper.children(recursive=True)]
        assert len(processes) > 2
    assert [process for process in processes if process.is_running()] == []
    assert not server.folder.exists()


def test_committed_rows_survive_a_stop_and_a_new_start(server_folder):
    with postgres(server_folder) as server, psycopg.connect(server.url()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS value")
    with postgres(server_folder) as server, psycopg.connect(server.url()) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (1000,)


def test_every_acknowledged_commit_survives_killing_all_of_postgres(server_folder):
    with EmbeddedPostgres(server_folder) as server:
        connection = psycopg.connect(server.url(), autocommit=True)
        connection.execute("CREATE TABLE acknowledged (value int)")
        for value in range(200):
            connection.execute("INSERT INTO acknowledged VALUES (%s)", [value])
        unfinished = psycopg.connect(server.url())
        unfinished.execute("INSERT INTO acknowledged VALUES (-1)")
        kill_outright(descendants(server.process_id))
        connection.close()
        unfinished.close()
    with EmbeddedPostgres(server_folder) as server, psycopg.connect(server.url()) as connection:
        found = connection.execute("SELECT array_agg(value ORDER BY value) FROM acknowledged").fetchone()
        assert found == (list(range(200)),)


def test_a_start_succeeds_while_backends_of_a_killed_postmaster_still_end(server_folder):
    with postgres(server_folder) as server, psycopg.connect(server.url()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS value")
        connection.commit()
        postmaster = psutil.Process(server.process_id)
        postmaster.kill()
        psutil.wait_procs([postmaster], timeout=30)
        with postgres(server_folder) as again, psycopg.connect(again.url()) as second:
            assert second.execute("SELECT value FROM kept").fetchone() == (1,)


def test_a_pid_file_whose_number_another_program_has_by_now_does_not_hinder(server_folder):
    with postgres(server_folder) as server:
        pid_file = server.folder / "data" / "postmaster.pid"
        kill_outright(descendants(server.process_id))
        stranger = Program(["sleep", "60"], cwd="/", **server.account.build_identity())
        try:
            _, _, rest = pid_file.read_text().partition("\n")
            pid_file.write_text(f"{stranger.pid}\n{rest}")
            with postgres(server_folder) as again, psycopg.connect(again.url()) as connection:
                assert connection.execute("SELECT 1").fetchone() == (1,)
        finally:
            stranger.kill()
            stranger.wait()


def test_two_users_share_one_server_and_the_last_one_stops_it(server_folder, assert_all_end):
    first = postgres(server_folder).start()
    second = postgres(server_folder).start()
    processes = descendants(first.process_id)
    assert second.process_id == first.process_id
    first.stop()
    with psycopg.connect(second.url()) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    second.stop()
    assert_all_end(processes)


def test_a_server_whose_only_user_is_killed_outright_ends_too(server_folder, use_elsewhere, assert_all_end):
    user = use_elsewhere("postgres", server_folder)
    assert user.stdout.readline().startswith("postgresql://")
    [postmaster] = [int(line) for line in (server_folder / "data" / "postmaster.pid").read_text().splitlines()[:1]]
    keeper = psutil.Process(postmaster).parent()
    processes = [keeper, *keeper.children(recursive=True)]
    user.kill()
    assert_all_end(processes)


def test_a_server_outlives_the_process_that_started_it_while_another_uses_it(server_folder, use_elsewhere):
    starter = use_elsewhere("postgres", server_folder)
    assert starter.stdout.readline()
    with postgres(server_folder) as server:
        starter.kill()
        starter.wait()
        with psycopg.connect(server.url()) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_server_whose_keeper_is_killed_ends_with_it(server_folder, assert_all_end):
    with postgres(server_folder) as server:
        processes = descendants(server.process_id)
        psutil.Process(server.process_id).parent().kill()
        assert_all_end(processes)


def test_servers_of_two_checkouts_run_side_by_side(server_folder):
    with (
        postgres(server_folder / "one", tcp=True) as one,
        postgres(server_folder / "two", tcp=True) as two,
    ):
        for server, value in ((one, "one"), (two, "two")):
            with psycopg.connect(server.url(tcp=True)) as connection:
                connection.execute("CREATE TABLE place AS SELECT %s::text AS name", [value])
        for server, value in ((one, "one"), (two, "two")):
            with psycopg.connect(server.url()) as connection:
                assert connection.execute("SELECT name FROM place").fetchone() == (value,)


def test_an_ordinary_user_runs_a_server_in_a_home_of_its_own(server_folder, use_elsewhere, as_other_user):
    home = server_folder.parent / "home"
    home.mkdir()
    home.chmod(0o777)
    user = use_elsewhere("postgres", home / "server", prefix=as_other_user, HOME=str(home))
    assert user.stdout.readline().startswith("postgresql://"), user.stderr.read()
    assert (home / "server" / "data").stat().st_uid == (home / "server").stat().st_uid != 0
    user.stdin.close()
    assert user.wait() == 0
    assert not (home / "server" / "data" / "postmaster.pid").exists()


def test_a_folder_of_another_user_is_refused_by_name(server_folder, use_elsewhere, as_other_user):
    folder = server_folder if as_other_user else "/"
    with postgres(server_folder):
        user = use_elsewhere("postgres", folder, prefix=as_other_user)
        assert user.wait() == 1
        assert "belongs to uid 0" in user.stderr.read()


def test_a_folder_that_the_servers_account_cannot_reach_is_replaced(tmp_path):
    tmp_path.chmod(0o700)
    server = postgres(tmp_path / "server")
    try:
        with server, psycopg.connect(server.url()) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert postgres(tmp_path / "server").folder == server.folder
    finally:
        shutil.rmtree(server.folder)


def test_account_without_an_entry_gets_an_instruction():
    with pytest.raises(CannotStart, match=r"uid 54321 has no entry .* set DATABASE_URL"):
        find_server_account(54321)


def test_a_cluster_half_made_by_a_killed_start_is_made_again(server_folder):
    with postgres(server_folder):
        pass
    (server_folder / "data").rename(server_folder / "data.partial")
    with postgres(server_folder) as server, psycopg.connect(server.url()) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_path_too_long_for_a_socket_or_with_odd_characters_works(server_folder):
    folder = server_folder / ("a long name, with a comma and an 'é' " * 4)
    with postgres(folder) as server, psycopg.connect(server.url()) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_roles_need_no_password_on_the_socket_and_one_over_tcp(server_folder):
    with postgres(server_folder, tcp=True) as server:
        with psycopg.connect(server.url()) as connection:
            connection.execute("CREATE ROLE reader LOGIN PASSWORD 'right'")
        with psycopg.connect(server.url("reader")) as connection:
            assert connection.execute("SELECT current_user").fetchone() == ("reader",)
        with psycopg.connect(server.url("reader", password="right", tcp=True)) as connection:
            assert connection.execute("SELECT current_user").fetchone() == ("reader",)
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(server.url("reader", password="wrong", tcp=True))


def test_a_cluster_of_another_version_is_refused_by_name(server_folder):
    with postgres(server_folder) as server:
        pass
    (server.folder / "data" / "PG_VERSION").write_text("15\n")
    with pytest.raises(CannotStart, match="PostgreSQL 15"):
        postgres(server_folder).start()


def test_a_start_that_fails_says_why_and_leaves_no_process(server_folder, processes_below):
    before = processes_below()
    with pytest.raises(CannotStart, match="no_such_parameter"):
        postgres(server_folder, settings={"no_such_parameter": "1"}).start()
    assert processes_below() == before


def find_backend(session):
    (process_id,) = session.execute("SELECT pg_backend_pid()").fetchone()
    return psutil.Process(process_id)


@pytest.mark.skipif(sys.platform != "linux", reason="niceness of single sessions is read from /proc")
def test_sessions_of_analysts_leave_the_processors_to_the_service(server_folder):
    with postgres(server_folder) as server, psycopg.connect(server.url(), autocommit=True) as service:
        service.execute("CREATE ROLE tradewind_reader_1 LOGIN")
        with psycopg.connect(server.url("tradewind_reader_1")) as analyst:
            usual = find_backend(service).nice()
            eventually(lambda: find_backend(analyst).nice() == max(usual, 10))
            assert find_backend(service).nice() == usual
