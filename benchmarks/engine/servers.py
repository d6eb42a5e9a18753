"""Servers on the loopback: Debian's nginx, which also takes uploads, and our own `serve-files`."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tradewind.errors import TradewindError

HOST = "127.0.0.1"
_PATIENCE_S, _POLL_S = 30.0, 0.05
_NGINX = """\
daemon off;
worker_processes 1;
{user}
pid {work}/nginx.pid;
error_log {work}/nginx.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;  # this and the next as Debian ships it
    tcp_nopush on;
    default_type application/octet-stream;
    client_max_body_size 0;
    client_body_temp_path {root}/.body;
    proxy_temp_path {work}/proxy;
    fastcgi_temp_path {work}/fastcgi;
    scgi_temp_path {work}/scgi;
    uwsgi_temp_path {work}/uwsgi;
    server {{
        listen {host}:{port} backlog=1024;
        root {root};
        autoindex on;
        dav_methods PUT MKCOL;
        create_full_put_path on;
    }}
}}
"""


class CannotServe(TradewindError):
    """A server is missing or did not start; the message says why."""


@contextmanager
def run_nginx(root: Path, work: Path) -> Iterator[str]:
    """Serve ``root``; the value is its URL, with a slash at the end."""
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if program is None:
        raise CannotServe("there is no nginx; as root: infra/install-test-tools")
    port, configuration = _find_free_port(), work / "nginx.conf"
    user = f"user {root.owner()};" if os.geteuid() == 0 else ""
    configuration.write_text(_NGINX.format(user=user, work=work, root=root, host=HOST, port=port), encoding="utf-8")
    command = [program, "-c", str(configuration), "-e", str(work / "nginx.log")]
    with _run_server(command, port, work / "nginx.err"):
        yield f"http://{HOST}:{port}/"


@contextmanager
def run_serve_files(root: Path, work: Path) -> Iterator[str]:
    """Serve ``root`` by our own server, and let it take uploads."""
    port = _find_free_port()
    command = [sys.executable, "-P", "-m", "tradewind_agent", "serve-files", str(root), "--writable"]
    with _run_server([*command, "--host", HOST, "--port", str(port)], port, work / "serve-files.err"):
        yield f"http://{HOST}:{port}/"


@contextmanager
def _run_server(command: Sequence[str], port: int, log: Path) -> Iterator[None]:
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as server:
        try:
            deadline = time.monotonic() + _PATIENCE_S
            while not _is_listening(port):
                if server.poll() is not None or time.monotonic() > deadline:
                    printed = log.read_text(errors="replace").strip().splitlines() or ["it printed nothing"]
                    raise CannotServe(f"{command[0]} did not start: {printed[-1]}")
                time.sleep(_POLL_S)
            yield
        finally:
            server.terminate()


def _find_free_port() -> int:
    with socket.create_server((HOST, 0)) as taken:
        return int(taken.getsockname()[1])


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
