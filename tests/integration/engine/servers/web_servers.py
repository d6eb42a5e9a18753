"""nginx, Apache, lighttpd and Caddy as Debian ships them, each on a free port with a configuration of our own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conditions import stretched
from tests.endings import Program
from tests.ports import free_port

_START_DEADLINE_S = 20.0
APACHE_MODULES = Path("/usr/lib/apache2/modules")


@dataclass(frozen=True)
class WebServer:
    """A running server and where its access log is (one line a request, a mark of the connection first)."""

    kind: str
    port: int
    log: Path
    scheme: str = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/"


def program(name: str) -> str:
    """Path of a server program; it is in sbin, which an ordinary user's PATH may lack."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    assert found, f"{name} is not installed; install what infra/install-test-tools names"
    return found


@contextmanager
def nginx(root: Path, work: Path, *, server: str = "", tls: tuple[Path, Path] | None = None) -> Iterator[WebServer]:
    """Serve ``root``; ``server`` holds further directives of the server block."""
    port, log = free_port(), work / "access.log"
    listen = f"listen 127.0.0.1:{port}{' ssl' if tls else ''};"
    keys = f"ssl_certificate {tls[0]}; ssl_certificate_key {tls[1]};" if tls else ""
    temporary = "".join(
        f"{kind}_temp_path {work}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    configuration = f"""
        daemon off; worker_processes 1; pid {work}/pid; error_log {work}/error.log;
        {"user root;" if os.geteuid() == 0 else ""}
        events {{ worker_connections 512; }}
        http {{
            log_format connections '$connection $request_method $uri $status';
            access_log {log} connections; sendfile on; {temporary}
            default_type application/octet-stream;
            server {{ {listen} {keys} root {root}; autoindex on; {server} }}
        }}"""
    (work / "nginx.conf").write_text(configuration)
    command = [program("nginx"), "-e", f"{work}/error.log", "-p", str(work), "-c", str(work / "nginx.conf")]
    with _running(command, port, work):
        yield WebServer("nginx", port, log, "https" if tls else "http")


@contextmanager
def apache(root: Path, work: Path, *, server: str = "") -> Iterator[WebServer]:
    """Serve ``root``; ``server`` holds further directives."""
    port, log = free_port(), work / "access.log"
    modules = "\n".join(
        f"LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so"
        for name in ("mpm_event", "authz_core", "authz_host", "autoindex", "dir", "mime", "headers", "alias")
    )
    configuration = f"""
        {modules}
        ServerRoot {work}
        ServerName localhost
        Listen 127.0.0.1:{port}
        PidFile {work}/pid
        DefaultRuntimeDir {work}
        {"User www-data" if os.geteuid() == 0 else ""}
        {"Group www-data" if os.geteuid() == 0 else ""}
        ErrorLog {work}/error.log
        LogFormat "%{{remote}}p %m %U %s" connections
        CustomLog {log} connections
        TypesConfig /dev/null
        DocumentRoot {root}
        <Directory {root}>
            Options Indexes
            IndexOptions FancyIndexing
            Require all granted
        </Directory>
        {server}
        """
    (work / "apache.conf").write_text(configuration)
    with _running([program("apache2"), "-D", "FOREGROUND", "-f", str(work / "apache.conf")], port, work):
        yield WebServer("apache", port, log)


@contextmanager
def lighttpd(root: Path, work: Path, *, server: str = "") -> Iterator[WebServer]:
    """Serve ``root``; ``server`` holds further directives."""
    port, log = free_port(), work / "access.log"
    configuration = f"""
        server.modules = ("mod_accesslog", "mod_dirlisting")
        server.bind = "127.0.0.1"
        server.port = {port}
        server.document-root = "{root}"
        server.errorlog = "{work}/error.log"
        server.stream-response-body = 1
        mimetype.assign = ("" => "application/octet-stream")
        dir-listing.activate = "enable"
        accesslog.filename = "{log}"
        accesslog.format = "%{{remote}}p %m %U %s"
        {server}
        """
    (work / "lighttpd.conf").write_text(configuration)
    with _running([program("lighttpd"), "-D", "-f", str(work / "lighttpd.conf")], port, work):
        yield WebServer("lighttpd", port, log)


@contextmanager
def caddy(root: Path, work: Path) -> Iterator[WebServer]:
    """Serve ``root``; its log is of Caddy's own form."""
    port, log = free_port(), work / "access.log"
    configuration = f"""
        {{
            admin off
            auto_https off
            default_bind 127.0.0.1
            log {{
                output file {work}/error.log
            }}
        }}
        http://127.0.0.1:{port} {{
            root * {root}
            file_server browse
            log {{
                output file {log}
            }}
        }}
        """
    (work / "Caddyfile").write_text(configuration)
    with _running([program("caddy"), "run", "--adapter", "caddyfile", "--config", f"{work}/Caddyfile"], port, work):
        yield WebServer("caddy", port, log)


@contextmanager
def _running(command: list[str], port: int, work: Path) -> Iterator[None]:
    with (work / "output").open("wb") as output, Program(command, stdout=output, stderr=output) as process:
        try:
            _wait_for(process, port, work)
            yield
        finally:
            process.terminate()
            process.wait()


def _wait_for(process: subprocess.Popen[bytes], port: int, work: Path) -> None:
    deadline = time.monotonic() + stretched(_START_DEADLINE_S)
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    logs = "\n".join(path.read_text() for path in (work / "output", work / "error.log") if path.exists())
    raise AssertionError(f"{process.args} does not listen: {logs}")
