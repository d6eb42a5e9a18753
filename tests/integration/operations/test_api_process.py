"""The API's processes: those that answer, and the one that makes them anew."""

import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from services.latency import MOST_DESCRIPTORS
from tests.conditions import eventually
from tests.endings import Program, is_gone
from tests.ports import free_port

PROCESSES = 2


class Api:
    """The processes, and where they answer."""

    def __init__(self, environment: dict[str, str]) -> None:
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        command = (*(sys.executable, "-P", "-m", "services.api_process"), "--host=127.0.0.1", f"--port={port}")
        self.maker = Program(
            (*command, f"--processes={PROCESSES}"), env=environment, start_new_session=True, stderr=subprocess.PIPE
        )

    def answering(self) -> list[psutil.Process]:
        """Those that listen."""
        made = psutil.Process(self.maker.pid).children()
        return [
            each
            for each in made
            if not is_gone(each) and any(place.status == psutil.CONN_LISTEN for place in each.net_connections())
        ]

    def all_answer(self) -> list[psutil.Process]:
        """Those that should, once they do."""
        return eventually(lambda: found if len(found := self.answering()) == PROCESSES else [])

    def request_status(self) -> int:
        """Return the status of a simple answer, on a connection of its own."""
        return httpx.get(f"{self.address}/healthz", timeout=20).status_code


@pytest.fixture
def api(database_url: str, redis_url: str) -> Iterator[Api]:
    started = Api(os.environ | {"DATABASE_URL": database_url, "REDIS_URL": redis_url})
    try:
        yield started
    finally:
        if started.maker.poll() is None:
            os.killpg(started.maker.pid, signal.SIGKILL)
        started.maker.communicate()


def test_another_is_made_for_one_that_was_killed_and_nobody_waits_meanwhile(api):
    first, second = api.all_answer()
    first.kill()
    eventually(lambda: is_gone(first))
    assert [api.request_status() for _ in range(10)] == [200] * 10
    (made,) = set(api.all_answer()) - {second}
    assert made != first


def test_each_has_room_for_many_connections_from_its_start(api):
    status = [Path(f"/proc/{each.pid}/status").read_text(encoding="ascii") for each in api.all_answer()]
    rooms = [int(re.search(r"FDSize:\s+(\d+)", text)[1]) for text in status]
    assert min(rooms) >= min(MOST_DESCRIPTORS, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def test_killed_processes_are_all_started_again(api):
    killed = api.all_answer()
    for each in killed:
        each.kill()
    eventually(lambda: all(map(is_gone, killed)))
    assert not set(api.all_answer()) & set(killed)
    assert api.request_status() == 200


def test_all_processes_end_in_order_on_sigterm(api):
    made = api.all_answer()
    api.maker.send_signal(signal.SIGTERM)
    _, said = api.maker.communicate(timeout=30)
    assert (api.maker.returncode, said) == (0, b"")
    assert all(map(is_gone, made))


def test_none_is_left_when_the_one_that_made_them_was_killed(api):
    made = api.all_answer()
    api.maker.kill()
    eventually(lambda: all(map(is_gone, made)))


def test_one_that_ends_by_itself_ends_all_with_what_it_says():
    without = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    api = Api(without)
    _, said = api.maker.communicate(timeout=60)
    assert api.maker.returncode == 1
    assert set(said.decode().splitlines()) == {"api: DATABASE_URL: must be set"}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--forwarded-allow-ips=*", "TRADEWIND_PROXIES: * would have everybody believed"),
        ("--forwarded-allow-ips=10.1.0.0/16,caddy", "TRADEWIND_PROXIES: must be addresses or networks by commas, but"),
        ("--forwarded-allow-ips=10.1.0.1/16", "TRADEWIND_PROXIES: must be addresses or networks by commas, but"),
        ("--host=192.0.2.1", "TRADEWIND_HOST: cannot listen on 192.0.2.1, port 1"),
        ("--host=.a", "TRADEWIND_HOST: no address of .a: it is no name"),
        ("--host=nobody.invalid", "TRADEWIND_HOST: no address of nobody.invalid: "),
    ],
)
def test_unusable_address_or_proxy_ends_the_api_with_one_line(option: str, message: str) -> None:
    command = [sys.executable, "-P", "-m", "services.api_process", "--host=127.0.0.1", "--port=1", option]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"api: {message}")
