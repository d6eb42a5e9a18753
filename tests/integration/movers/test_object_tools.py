"""aws and s5cmd against object stores: set, run, measured and logged; the user's configuration stays as it is."""

import os
import random
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

import boto3
import pytest

from tests.integration.movers.driving import recommending
from tests.integration.stores.moto_store import serve_store
from tradewind.transfer import Direction, Status
from tradewind_agent.stores.s3.session import open_session

TOOLS = Path(__file__).resolve().parents[3] / "var" / "test-tools" / "object-stores" / "bin"
CONTENT = {"a to b": 1_000, "empty": 0, "deep/x": 3_000, "large": 20_000_000}


@pytest.fixture(scope="module")
def store_url(tmp_path_factory):
    with serve_store(tmp_path_factory.mktemp("store") / "log") as url:
        yield url


@pytest.fixture
def user(drive, tmp_path, monkeypatch):
    """A user with a key and the tools, in a folder of their own."""
    assert (TOOLS / "aws").is_file(), "aws and s5cmd are not installed; run infra/install-test-tools"
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "PATH": f"{TOOLS}:{os.environ['PATH']}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    open_session.cache_clear()
    yield drive
    open_session.cache_clear()


@pytest.fixture
def store(store_url, user, monkeypatch):
    """A bucket in a store that the user's tools go to."""
    for name in ("AWS_ENDPOINT_URL", "S3_ENDPOINT_URL"):
        monkeypatch.setenv(name, store_url)
    client = boto3.client("s3", endpoint_url=store_url)
    client.name = f"data-{random.randrange(10**9)}"
    client.create_bucket(Bucket=client.name)
    yield client
    client.close()


@pytest.fixture
def folder(tmp_path):
    draw = random.Random(2)
    for name, size in CONTENT.items():
        path = tmp_path / "from" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(draw.randbytes(size))
    return tmp_path / "from"


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


LINES = {
    "aws": (("s3", "cp", "--recursive", "from", "s3://{}/p"), ("s3", "sync", "s3://{}/p", "to")),
    "s5cmd": (("cp", "from/", "s3://{}/p/"), ("cp", "s3://{}/p/*", "to/")),
}


@pytest.mark.parametrize("tool", LINES)
def test_folder_goes_to_a_store_and_comes_back_and_each_run_is_a_row(user, store, folder, tmp_path, tool):
    up, down = ([word.format(store.name) for word in line] for line in LINES[tool])
    reports = [user.run(user.prepare(tool, *line, service=recommending(6, 2))) for line in (up, down)]
    assert [report.exit_code for report in reports] == [0, 0]
    assert contents(tmp_path / "to") == contents(folder)
    rows = user.spooled()
    assert [row.direction for row in rows] == [Direction.UPLOAD, Direction.DOWNLOAD]
    for row in rows:
        assert (row.mover.name, row.protocol) == (tool, "s3")
        assert (row.outcome.bytes_moved, row.outcome.files_done) == (sum(CONTENT.values()), len(CONTENT))
        assert (row.parameters.concurrency, row.parameters.parallelism) == (6, 2)
    assert rows[0].dataset.file_count == len(CONTENT)
    assert rows[0].dataset.max_file_bytes == max(CONTENT.values())


def test_move_by_aws_is_measured_though_the_files_are_gone(user, store, folder):
    report = user.run(user.prepare("aws", "s3", "mv", "--recursive", folder, f"s3://{store.name}/m"))
    assert not contents(folder)
    assert (report.result.bytes_moved, report.result.files_done) == (sum(CONTENT.values()), len(CONTENT))


@pytest.mark.parametrize("tool", LINES)
def test_copy_within_a_store_is_measured_by_its_listing(user, store, folder, tool):
    store.put_object(Bucket=store.name, Key="k/one", Body=bytes(4_000))
    places = (f"s3://{store.name}/k/one", f"s3://{store.name}/l/one")
    report = user.run(user.prepare(tool, *{"aws": ("s3", "cp"), "s5cmd": ("cp",)}[tool], *places))
    assert (report.exit_code, report.result.bytes_moved) == (0, 4_000)
    assert report.records[0].direction is Direction.THIRD_PARTY


def test_settings_come_by_a_private_copy_of_the_configuration_that_goes_with_the_run(user, store, folder, tmp_path):
    own = tmp_path / "home" / ".aws" / "config"
    own.parent.mkdir()
    (tmp_path / "key").write_text('{"Version": 1, "AccessKeyId": "key", "SecretAccessKey": "secret"}')
    process = f"credential_process = /bin/cat {tmp_path}/key"
    own.write_text(f"[profile lab]\nregion = us-east-1\n{process}\ns3 =\n  max_queue_size = 9\n")
    before = own.read_bytes()
    prepared = user.prepare(
        "aws", "--profile", "lab", "s3", "cp", folder / "large", f"s3://{store.name}/x", service=recommending(6, 2)
    )
    seen = []

    def look(run):
        scratch = run._scratch
        seen.extend((path.stat().st_mode & 0o777, path.read_text()) for path in scratch.glob("configuration*"))

    report = user.run(prepared, look)
    assert report.exit_code == 0
    mode, text = seen[0]
    assert mode == 0o600
    assert "  max_concurrent_requests = 12\n  max_queue_size = 9\n" in text
    assert process in text
    assert report.commands[0].settings == {"s3.max_concurrent_requests": "12"}
    assert own.read_bytes() == before
    assert not Path(report.commands[0].variables["AWS_CONFIG_FILE"]).exists()


def test_number_of_requests_that_the_user_has_set_stays_and_is_logged(user, store, folder, tmp_path):
    (tmp_path / "home" / ".aws").mkdir()
    (tmp_path / "home" / ".aws" / "config").write_text("[default]\ns3 =\n  max_concurrent_requests = 9\n")
    prepared = user.prepare(
        "aws", "s3", "cp", "--recursive", folder, f"s3://{store.name}/x", service=recommending(6, 2)
    )
    report = user.run(prepared)
    assert report.commands[0].settings == {}
    parameters = report.records[0].parameters
    assert (parameters.concurrency, parameters.parallelism) == (4, 2)  # 4 files; 9 requests are 2 for each


@pytest.mark.parametrize("tool", LINES)
def test_recommended_size_of_parts_is_set_and_logged(user, store, folder, tool):
    line = {"aws": ("s3", "cp"), "s5cmd": ("cp",)}[tool]
    service = recommending(2, 2, part_bytes=6 * 2**20)
    report = user.run(user.prepare(tool, *line, folder / "large", f"s3://{store.name}/x", service=service))
    (command,) = report.commands
    assert report.exit_code == 0
    assert report.records[0].parameters.part_bytes == 6 * 2**20
    assert report.records[0].store == "s3"
    assert store.head_object(Bucket=store.name, Key="x", PartNumber=1)["PartsCount"] == 4
    if tool == "aws":
        assert command.settings["s3.multipart_chunksize"] == "6291456"
    else:
        assert command.words[command.words.index("--part-size") + 1] == "6"


@pytest.mark.parametrize("tool", LINES)
def test_size_of_parts_is_not_logged_where_no_file_was_large_enough(user, store, folder, tool):
    line = {"aws": ("s3", "cp"), "s5cmd": ("cp",)}[tool]
    service = recommending(2, 2, part_bytes=6 * 2**20)
    report = user.run(user.prepare(tool, *line, folder / "deep" / "x", f"s3://{store.name}/x", service=service))
    assert report.records[0].parameters.part_bytes is None


def test_flags_that_the_user_has_set_stay(user, store, folder):
    line = ("s5cmd", "--numworkers", "3", "cp", "-c", "2", f"{folder}/", f"s3://{store.name}/x/")
    command = user.prepare(*line, service=recommending(6, 4)).build_first_command()
    assert [word for word in command.words[1:] if word != "--json"] == list(line[1:])


@pytest.mark.parametrize(
    "line",
    [
        ("aws", "s3", "cp", "--quiet", "from/large", "s3://{}/x"),
        ("aws", "s3", "cp", "--only-show-errors", "from/large", "s3://{}/x"),
        ("s5cmd", "--log", "error", "cp", "from/large", "s3://{}/x"),
        ("s5cmd", "cp", "--show-progress", "from/large", "s3://{}/x"),
    ],
)
def test_tool_that_is_not_to_print_what_it_moves_is_run_and_not_logged(user, store, folder, line):
    report = user.run(user.prepare(*(word.format(store.name) for word in line)))
    assert (report.exit_code, report.result) == (0, None)
    assert "does not tell what it moved" in report.format_line()
    assert any("nothing is logged" in note for note in report.notes)
    assert not user.spooled()
    assert store.head_object(Bucket=store.name, Key="x")["ContentLength"] == CONTENT["large"]


@pytest.mark.parametrize("tool", LINES)
def test_refusal_that_fewer_requests_do_not_change_is_met_once(user, store, folder, capfd, tool):
    line = {"aws": ("s3", "cp"), "s5cmd": ("cp",)}[tool]
    report = user.run(user.prepare(tool, *line, folder / "large", "s3://none-of-them/x", service=recommending(64)))
    assert (report.exit_code, report.status, len(report.commands)) == (1, Status.FAILED, 1)
    assert "NoSuchBucket" in capfd.readouterr().err


class Refusing(BaseHTTPRequestHandler):
    """A store that wants fewer requests until it has refused some."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.left -= 1
            is_refused = self.server.left >= 0
            if not is_refused:
                self.server.stored.add(self.path.partition("?")[0])
        body = b"<Error><Code>SlowDown</Code><Message>fewer</Message></Error>" if is_refused else b""
        self.send_response(503 if is_refused else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"0"')
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("x-amz-bucket-region", "us-east-1")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def refuse_first(count):
    """Serve a store that refuses its first ``count`` uploads."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        server.lock, server.left, server.stored = Lock(), count, set()
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("tool", "line"),
    [
        ("aws", ("s3", "cp", "--recursive", "small", "s3://data/p")),
        ("s5cmd", ("-r", "0", "cp", "small/", "s3://data/p/")),
    ],
)
def test_store_that_wants_fewer_requests_gets_fewer(user, tmp_path, monkeypatch, tool, line):
    (tmp_path / "small").mkdir()
    for number in range(8):
        (tmp_path / "small" / str(number)).write_bytes(bytes(100 + number))

    with refuse_first(8) as refusing:
        for name in ("AWS_ENDPOINT_URL", "S3_ENDPOINT_URL"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{refusing.server_port}")
        report = user.run(user.prepare(tool, *line, service=recommending(8)))
    assert (report.exit_code, len(report.commands)) == (0, 2)
    assert (report.result.files_done, report.result.files_failed) == (8, 0)
    assert report.result.bytes_moved == sum(100 + number for number in range(8))
    assert any("failed with 8 files at once" in note for note in report.notes)
    assert len(refusing.stored) == 8
