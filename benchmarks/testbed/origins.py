"""Servers of a folder on a testbed's server host: nginx, our own serve-files, and GridFTP."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.support.processes import end_program
from benchmarks.testbed.certificate import Certificate
from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.testbed import Testbed

HTTP_PORT, HTTPS_PORT = 80, 443
GRIDFTP_PORT = 2811
PATIENCE_S = 15.0
NGINX_KEEPALIVE_REQUESTS = 1000
"""nginx's own default: it closes a connection after so many requests."""

_ORDINARY_USER = "nobody"
AS_ORDINARY_USER = ("unshare", "--user", f"--map-user={_ORDINARY_USER}", "--map-group=65534")
"""Some servers refuse to serve as root, or to become another user in a user namespace, where there is none. In a
namespace of its own a server is the same user, who owns its folder, under another name and without privileges."""

_HOSTS = Path("/etc/hosts")
_WITH_HOSTS = 'mount --bind "$1" /etc/hosts && shift && exec "$@"'
_POLL_S = 0.05
_GRACE_S = 5.0
_NGINX = """\
daemon off;
worker_processes 2;
user {user};
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    sendfile on;  # this and the next two as Debian ships it
    tcp_nopush on;
    gzip on;  # of text/html alone: index pages
    keepalive_requests {keepalive_requests};
    default_type application/octet-stream;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    scgi_temp_path {folder}/scgi;
    uwsgi_temp_path {folder}/uwsgi;
    server {{
        listen {address}:{port} backlog=4096{tls};
        root {root};
        autoindex on;
    }}
}}
"""

_NGINX_TLS = """ ssl;
        ssl_certificate {certificate.file};
        ssl_certificate_key {certificate.key}"""


@contextmanager
def run_nginx(
    bed: Testbed,
    root: Path,
    *,
    keepalive_requests: int = NGINX_KEEPALIVE_REQUESTS,
    certificate: Certificate | None = None,
) -> Iterator[str]:
    """Serve ``root`` by Debian's nginx; the value is its URL, with a slash at the end."""
    port = HTTP_PORT if certificate is None else HTTPS_PORT
    require_free(bed, port)
    configuration = bed.folder / "nginx.conf"
    configuration.write_text(
        _NGINX.format(
            user=root.owner(),
            folder=bed.folder,
            keepalive_requests=keepalive_requests,
            address=bed.server.address,
            port=port,
            tls="" if certificate is None else _NGINX_TLS.format(certificate=certificate),
            root=root,
        )
    )
    log = bed.folder / "nginx.err"
    program = bed.start(bed.server, ["nginx", "-c", configuration, "-e", bed.folder / "nginx.log"], log=log)
    with run_until_end(bed, program, port, log):
        yield f"http{'s' if certificate else ''}://{bed.server.address}/"


@contextmanager
def run_serve_files(bed: Testbed, root: Path) -> Iterator[str]:
    """Serve ``root`` by our own server of files; the value is its URL, with a slash at the end."""
    require_free(bed, HTTP_PORT)
    log = bed.folder / "serve-files.log"
    command = [sys.executable, "-P", "-m", "tradewind_agent", "serve-files", str(root)]
    command += ["--host", bed.server.address, "--port", str(HTTP_PORT)]
    program = bed.start(bed.server, command, log=log)
    with run_until_end(bed, program, HTTP_PORT, log):
        yield f"http://{bed.server.address}/"


@contextmanager
def run_gridftp(bed: Testbed, root: Path) -> Iterator[str]:
    """Serve ``root`` to anyone by a Globus GridFTP server; the value is its URL of that folder, with a slash."""
    require_free(bed, GRIDFTP_PORT)
    # The server looks up the name of its own address; an unreachable name server would keep it waiting.
    hosts = bed.folder / "hosts"
    hosts.write_text(_HOSTS.read_text(encoding="utf-8") + f"\n{bed.server.address} {bed.server.namespace}\n")
    command: list[str | Path] = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        _WITH_HOSTS,
        "sh",
        hosts,
        *AS_ORDINARY_USER,
        "globus-gridftp-server",
        "-s",
    ]
    command += ["-c", os.devnull, "-l", bed.folder / "gridftp.log", "-p", str(GRIDFTP_PORT), "-rp", root]
    command += ["-control-interface", bed.server.address, "-data-interface", bed.server.address]
    command += ["-aa", "-anonymous-user", _ORDINARY_USER]
    program = bed.start(bed.server, command, log=bed.folder / "gridftp.err")
    with run_until_end(bed, program, GRIDFTP_PORT, bed.folder / "gridftp.err"):
        yield f"ftp://{bed.server.address}:{GRIDFTP_PORT}{root}/"


@contextmanager
def run_until_end(bed: Testbed, program: subprocess.Popen[bytes], port: int, log: Path) -> Iterator[None]:
    """Wait until a server accepts connections; stop it at the end."""
    try:
        _wait_until_listening(bed, program, port, log)
        yield
    finally:
        end_program(program, _GRACE_S)


def _wait_until_listening(bed: Testbed, program: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_listening(bed, port):
        if program.poll() is not None or time.monotonic() > deadline:
            output = log.read_text(errors="replace").strip().splitlines() or ["it printed nothing"]
            raise EmulationBroke(f"the server on port {port} did not start: {output[-1]}")
        time.sleep(_POLL_S)


def require_free(bed: Testbed, port: int) -> None:
    """Refuse a second server of a port, which would fail while the first one answers for it."""
    if is_listening(bed, port):
        raise EmulationBroke(f"port {port} of {bed.server.namespace} has a server already")


def is_listening(bed: Testbed, port: int) -> bool:
    """Look at the sockets of the server's namespace, where the link lives: no connection disturbs the path."""
    listening_socket = (
        f":{port:04X} 00000000:0000 0A"  # in /proc/net/tcp: any address, this port, no peer, state LISTEN
    )
    return listening_socket in Path(f"/proc/{bed.link.process.pid}/net/tcp").read_text(encoding="ascii")
