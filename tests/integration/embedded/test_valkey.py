import psutil
import pytest
import redis

from services.embedded.valkey import EmbeddedValkey


@pytest.fixture
def connect():
    clients = []

    def client(url):
        clients.append(redis.Redis.from_url(url))
        return clients[-1]

    yield client
    for one in clients:
        one.close()


def processes_of(server):
    """Its processes among those that this test process started; others may run servers of their own."""
    folder = str(server.folder)
    children = psutil.Process().children(recursive=True)
    return [
        child
        for child in children
        if "valkey-server" in child.name() and any(folder in word for word in [child.cwd(), *child.cmdline()])
    ]


def test_queued_messages_survive_a_clean_restart_under_the_same_address(server_folder, connect):
    with EmbeddedValkey(server_folder) as server:
        url = server.url()
        connect(url).rpush("celery", *range(1000))
    with EmbeddedValkey(server_folder) as server:
        assert server.url() == url
        assert connect(url).llen("celery") == 1000


def test_a_stop_leaves_no_process_and_no_temporary_folder():
    with EmbeddedValkey.temporary() as server:
        [process] = processes_of(server)
    assert not process.is_running()
    assert not server.folder.exists()


def test_a_killed_server_starts_again_on_the_same_folder(server_folder, connect):
    with EmbeddedValkey(server_folder) as server:
        connect(server.url()).set("name", "value")
        [process] = processes_of(server)
        process.kill()
        process.wait()
        with EmbeddedValkey(server_folder) as again:
            assert connect(again.url()).ping()


def test_servers_of_two_checkouts_run_side_by_side(server_folder, connect):
    with EmbeddedValkey(server_folder / "one") as one, EmbeddedValkey(server_folder / "two") as two:
        connect(one.url()).set("place", "one")
        assert connect(two.url()).get("place") is None


def test_nobody_gets_in_without_the_password(connect):
    with EmbeddedValkey.temporary() as server:
        _, _, address = server.url().rpartition("@")
        with pytest.raises(redis.AuthenticationError):
            connect(f"redis://{address}").ping()


def test_a_server_whose_only_user_is_killed_outright_ends_too(server_folder, use_elsewhere, assert_all_end):
    user = use_elsewhere("valkey", server_folder)
    assert user.stdout.readline().startswith("redis://")
    processes = psutil.Process(user.pid).children(recursive=True)
    assert len(processes) == 2
    user.kill()
    assert_all_end(processes)


def test_an_ordinary_user_runs_a_server_in_a_home_of_its_own(server_folder, use_elsewhere, as_other_user):
    home = server_folder.parent / "home"
    home.mkdir()
    home.chmod(0o777)
    user = use_elsewhere("valkey", home / "server", prefix=as_other_user, HOME=str(home))
    assert user.stdout.readline().startswith("redis://"), user.stderr.read()
    user.stdin.close()
    assert user.wait() == 0
