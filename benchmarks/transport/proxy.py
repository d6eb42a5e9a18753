"""Run a caching proxy before an origin, as the paper had one: nginx, by HTTP/1.1, HTTP/1.1 over TLS, and HTTP/2.

The proxy's host sends by the congestion control of its network namespace, which is set before each load: the
connections of a load are new. The proxy requests each object once, from the origin on its own host.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from benchmarks.testbed.certificate import make_certificate
from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.testbed import Testbed

NAME = "tradewind-proxy"
FIRST_PORT = 8443
PATIENCE_S = 30.0
_ASK = ("curl", "--silent", "--insecure", "--retry", "20", "--retry-connrefused", "--retry-delay", "1")
_CONTROL = 'echo "$1" > /proc/sys/net/ipv4/tcp_congestion_control'


class PageProtocol(StrEnum):
    """How a browser requests a page's objects."""

    PLAIN = "HTTP/1.1"
    TLS = "HTTP/1.1 over TLS"
    HTTP_2 = "HTTP/2"

    @property
    def port(self) -> int:
        return FIRST_PORT + list(PageProtocol).index(self)

    @property
    def scheme(self) -> str:
        return "http" if self is PageProtocol.PLAIN else "https"


_LISTEN = {PageProtocol.PLAIN: "", PageProtocol.TLS: " ssl", PageProtocol.HTTP_2: " ssl http2"}
_SERVER = """\
    server {{
        listen {address}:{port}{how} backlog=4096;
        location / {{
            proxy_pass {origin};
            proxy_cache pages;
            proxy_cache_valid 200 1h;
            proxy_ignore_headers Cache-Control Expires Set-Cookie Vary;
            add_header X-Cache "$upstream_cache_status from {name}";
        }}
    }}
"""
_HEAD = """\
daemon off;
worker_processes 1;
user {user};
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    ssl_certificate {folder}/certificate.pem;
    ssl_certificate_key {folder}/key.pem;
    proxy_cache_path {folder}/cache keys_zone=pages:1m max_size=256m;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    scgi_temp_path {folder}/scgi;
    uwsgi_temp_path {folder}/uwsgi;
"""


@contextmanager
def run_caching_proxy(bed: Testbed, origin: str, folder: Path) -> Iterator[None]:
    """Run the proxy on the server of a testbed, one port a protocol, before ``origin``.

    Parameters
    ----------
    folder : an empty one that nginx may use.
    """
    folder.chmod(0o755)  # nginx may run as another account
    make_certificate(folder, bed.server.address)
    servers = "".join(
        _SERVER.format(address=bed.server.address, port=protocol.port, how=_LISTEN[protocol], origin=origin, name=NAME)
        for protocol in PageProtocol
    )
    configuration = folder / "nginx.conf"
    configuration.write_text(_HEAD.format(user=folder.owner(), folder=folder) + servers + "}\n", encoding="ascii")
    command: list[str | Path] = ["nginx", "-c", configuration, "-e", folder / "nginx.log"]
    try:  # a first run reports what is wrong with it
        bed.run(bed.server, [*command, "-t", "-q"])
    except subprocess.CalledProcessError as refused:
        raise EmulationBroke(f"nginx refuses its configuration: {(folder / 'nginx.log').read_text()}") from refused
    program = bed.start(bed.server, command)
    try:
        for protocol in PageProtocol:  # until it answers
            bed.run(
                bed.server, [*_ASK, f"{protocol.scheme}://{bed.server.address}:{protocol.port}/"], timeout_s=PATIENCE_S
            )
        yield
    finally:
        program.terminate()
        program.wait()


def set_congestion_control(bed: Testbed, control: str) -> None:
    """Let new connections of the server send by this congestion control."""
    bed.run(bed.server, ["sh", "-c", _CONTROL, "sh", control])
