"""Other accounts of the host, and clients of a file server."""

import os
import pwd
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.attack.cases import NotApplicable, attack, require
from benchmarks.attack.scene import Scene
from benchmarks.demo.stack import run_process
from services.persistence.lake_files import open_storage
from services.serve import PYTHON

OTHER_ACCOUNT = "nobody"
OUTSIDE = b"TOP SECRET"
MB = 1_000_000


def list_open_files(folder: Path) -> list[str]:
    """Return what others may read, write or list below a folder."""
    found = []
    for place, folders, files in os.walk(folder):
        if Path(place).stat().st_mode & stat.S_IXOTH == 0:
            folders.clear()
            continue
        names = ((name, 0o066) for name in folders), ((name, 0o077) for name in files)
        for name, forbidden in (each for both in names for each in both):
            path = Path(place, name)
            if not path.is_symlink() and path.stat().st_mode & forbidden:
                found.append(f"{path.relative_to(folder)} {stat.filemode(path.stat().st_mode)}")
    return found


@attack("local account × service")
def files_locks_and_sockets_of_the_service(scene: Scene) -> int:
    found = [
        each
        for server in (scene.service.postgres, scene.service.valkey)
        for each in list_open_files(server.folder)
    ]  # fmt: skip
    found += [each for each in list_open_files(scene.folder / "service") if "celerybeat" in each]
    require(not found, f"open to others: {', '.join(found[:5])}")
    return 3


@attack("local account × service")
def database_by_its_socket(scene: Scene) -> int:
    if os.geteuid():
        raise NotApplicable("only root can act as another account")
    entry = pwd.getpwnam(OTHER_ACCOUNT)
    psql, address = scene.service.postgres.program("psql"), scene.service.postgres.url()
    ran = subprocess.run(
        [str(psql), address, "-Atc", "SELECT count(*) FROM api_keys"],
        cwd="/", capture_output=True, text=True, check=False,
        user=entry.pw_uid, group=entry.pw_gid, extra_groups=[],
    )  # fmt: skip
    require(ran.returncode != 0, f"{OTHER_ACCOUNT} reads {ran.stdout.strip()} keys as superuser")
    owner = pwd.getpwuid(Path(f"/proc/{scene.service.postgres.process_id}").stat().st_uid).pw_name
    require(owner != OTHER_ACCOUNT, f"PostgreSQL runs as {owner}")
    return 2


@attack("local account × service")
def exported_logs(scene: Scene) -> int:
    folder = scene.folder / "exports"
    before = os.umask(0)
    try:
        with open_storage(str(folder)).replace("transfers/tenant=1/day=2026-03-01/part-0.parquet") as file:
            file.write(b"rows")
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o077 for path in (folder, *folder.rglob("*"))}
    require(modes == {0}, "exports are open to other accounts")
    return 1


@dataclass
class FileServer:
    """A running `tradewind serve-files`, the folder that it serves, and one next to it that it must not."""

    port: int
    folder: Path
    outside: Path

    def ask(self, method: str, path: str, body: bytes | None = None, **fields: str) -> tuple[int, bytes]:
        """Return status and everything that is answered."""
        sent = {"Host": "127.0.0.1", "Connection": "close"} | {
            name.replace("_", "-"): it for name, it in fields.items()
        }
        if body is not None:
            sent["Content-Length"] = str(len(body))
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        with socket.create_connection(("127.0.0.1", self.port), 5.0) as connection:
            connection.sendall(head.encode() + b"\r\n" + (body or b""))
            answer = b""
            while piece := connection.recv(65_536):
                answer += piece
        return int(answer.split()[1]), answer


@contextmanager
def run_file_server(scene: Scene, *options: str) -> Iterator[FileServer]:
    with ExitStack() as stack:
        place = scene.folder / f"files {len(list(scene.folder.iterdir()))}"
        served, outside = place / "served", place / "outside"
        for each in (served, outside):
            each.mkdir(parents=True)
        (outside / "secret").write_bytes(OUTSIDE)
        (served / "fine").write_bytes(b"fine")
        (served / ".hidden").write_bytes(OUTSIDE)
        (served / "link").symlink_to(outside / "secret")
        (served / "links").symlink_to(outside)
        command = (
            *PYTHON,
            "tradewind_agent",
            "serve-files",
            str(served),
            "--port",
            "0",
            "--no-meter",
            "--json",
            *options,
        )
        environment = {"PYTHONUNBUFFERED": "1", "HOME": str(place)}
        server = stack.enter_context(run_process("files", command, logs=place, environment=environment))
        yield FileServer(int(server.wait_for_line(r'"port": ?(\d+)')[1]), served, outside)


LEAVING = (
    "/../outside/secret", "/%2e%2e/outside/secret", "/..%2foutside/secret", "/served/../../outside/secret",
    "/%252e%252e/outside/secret", "/..%5coutside%5csecret", "//etc/passwd", "http://x/../../etc/passwd",
    "/link", "/links/secret", "/.hidden", "/fine%00.png", "/%c0%ae%c0%ae/outside/secret",
)  # fmt: skip


@attack("client × file server")
def names_that_leave_the_served_folder(scene: Scene) -> int:
    with run_file_server(scene, "--writable") as server:
        for path in LEAVING:
            _, answer = server.ask("GET", path)
            require(OUTSIDE not in answer and b"root:" not in answer, f"GET {path} leaves the folder")
            server.ask("PUT", path, b"written")
        found = {path.name: path.read_bytes() for path in server.outside.iterdir()}
        require(found == {"secret": OUTSIDE}, "a PUT leaves the folder")
    return 2 * len(LEAVING)


@attack("web page × file server")
def requests_of_another_origin(scene: Scene) -> int:
    with run_file_server(scene, "--writable") as server:
        status, _ = server.ask("GET", "/fine", Host="evil.example")
        require(status == 421, f"another host name is answered {status}")
        _, answer = server.ask("GET", "/fine")
        require(b"nosniff" in answer.lower(), "browsers may guess types")
        require(b"access-control" not in answer.lower(), "other origins may read")
    return 2


@attack("client × file server")
def quota_by_parts_and_replacements(scene: Scene) -> int:
    with run_file_server(scene, "--writable", "--quota", "10MB") as server:
        size = 8 * MB
        part = {"Content_Range": f"bytes 0-{size - 2}/{size}", "Tradewind_Upload": "first"}
        server.ask("PUT", "/first", bytes(size - 1), **part)
        for number in range(140):
            tiny = {"Content_Range": "bytes 0-0/2", "Tradewind_Upload": f"tiny {number}"}
            server.ask("PUT", f"/tiny{number}", b"x", **tiny)
        again = part | {"Tradewind_Upload": "second"}
        status, _ = server.ask("PUT", "/second", bytes(size - 1), **again)
        require(status == 507, f"a second large part is answered {status}")
        taken = sum(path.lstat().st_blocks * 512 for path in server.folder.rglob("*") if path.is_file())
        require(taken <= 10.5 * MB, f"{taken / MB:.1f} MB are on disk")
    return 142


@attack("client × file server")
def folders_beyond_the_quota(scene: Scene) -> int:
    """Name files deep in folders of their own, and remove the files again."""
    made, quota = 0, 200_000
    with run_file_server(scene, "--writable", "--quota", f"{quota}B") as server:
        for number in range(20):
            path = f"/{number}/{'a/' * 50}f"
            made += server.ask("PUT", path, b"")[0] == 201
            server.ask("DELETE", path)
        folders = sum(path.is_dir() for path in server.folder.rglob("*"))
    require(4_096 * folders <= quota + 64 * 1024, f"{folders} folders are on disk, made by {made} uploads")
    return 40


@attack("client × file server")
def idle_connections(scene: Scene) -> int:
    with run_file_server(scene) as server, ExitStack() as stack:
        opened = 0
        for _ in range(1_030):
            try:
                stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 2.0))
            except OSError:
                break
            opened += 1
        status, _ = server.ask("GET", "/fine")
        require(status == 200, f"next to {opened} idle connections another client is answered {status}")
    return opened + 1
