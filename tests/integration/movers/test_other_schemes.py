"""Addresses that tradewind does not speak: rclone copies them where it can, and one line says what does otherwise."""

import getpass
import shutil

import pytest

from tests.integration.agent.support.command import environment, run
from tests.integration.movers.test_bad_input import WAN


@pytest.fixture
def user(tmp_path):
    return environment(tmp_path / "home", TRADEWIND_SPOOL=str(tmp_path / "spool"), SSH_AUTH_SOCK="")


@pytest.fixture
def trusting(user, ssh, tmp_path):
    """A user who has the key of the server and knows it."""
    folder = tmp_path / "home" / ".ssh"
    folder.mkdir(parents=True)
    shutil.copy(ssh.config.parent / "user", folder / "id_ed25519")
    kind, key, *_ = (ssh.config.parent / "host.pub").read_text().split()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{ssh.port} {kind} {key}\n")
    return user


def configure_remote(tmp_path, **sections):
    """Write rclone's configuration of a user."""
    folder = tmp_path / "home" / ".config" / "rclone"
    folder.mkdir(parents=True)
    text = "".join(
        f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in options.items())
        for name, options in sections.items()
    )
    (folder / "rclone.conf").write_text(text)


def test_folder_on_a_known_ssh_server_is_copied_by_rclone_without_any_configuration(trusting, ssh, files, tmp_path):
    source = f"sftp://{getpass.getuser()}@127.0.0.1:{ssh.port}{files}/"
    ended = run("copy", *WAN, "--json", source, str(tmp_path / "to"), env=trusting)
    assert ended.code == 0, ended.err
    assert (tmp_path / "to" / "f01").read_bytes() == (files / "f01").read_bytes()
    assert (tmp_path / "to" / "large" / "one").stat().st_size == 24_000_000
    (record,) = ended.document["records"]
    assert (record["mover"]["name"], record["protocol"]) == ("rclone", "sftp")
    assert any("sftp:// is copied by rclone" in note for note in ended.document["notes"])


def test_one_file_gets_the_name_that_the_address_states(trusting, ssh, files, tmp_path):
    destination = f"sftp://127.0.0.1:{ssh.port}{tmp_path}/up/other"
    ended = run("copy", *WAN, str(files / "f01"), destination, env=trusting)
    assert ended.code == 0, ended.err
    assert (tmp_path / "up" / "other").read_bytes() == (files / "f01").read_bytes()


def test_server_with_another_key_than_the_known_one_gets_nothing(trusting, ssh, files, tmp_path):
    hosts = tmp_path / "home" / ".ssh" / "known_hosts"
    kind, key, *_ = (ssh.config.parent / "user.pub").read_text().split()
    hosts.write_text(f"[127.0.0.1]:{ssh.port} {kind} {key}\n")
    destination = f"sftp://127.0.0.1:{ssh.port}{tmp_path}/up/other"
    ended = run("copy", *WAN, str(files / "f01"), destination, env=trusting | {"RCLONE_RETRIES": "1"})
    assert ended.code == 1
    assert "knownhosts" in ended.err
    assert not (tmp_path / "up").exists()


def test_remote_of_the_user_is_named_to_rclone(user, tmp_path):
    configure_remote(tmp_path, goog={"type": "google cloud storage"}, box={"type": "sftp", "host": "h", "port": "2222"})
    bucket = run("copy", *WAN, "--dry-run", "--concurrency", "2", "gs://b/k/", "there", env=user, cwd=tmp_path)
    server = run("copy", *WAN, "--dry-run", "a:b", "sftp://h:2222/~/x%20y", env=user, cwd=tmp_path)
    other = run("copy", *WAN, "--dry-run", "a", "sftp://h:22/x", env=user, cwd=tmp_path)
    assert bucket.out.split()[1:4] == ["copy", "--transfers", "2"]
    assert bucket.out.rstrip().endswith(f"-- goog:b/k/ {tmp_path}/there")
    assert server.out.rstrip().endswith(f"-- {tmp_path}/a:b 'box:x y'")
    assert (other.code, "no remote of type 'sftp' for h" in other.error) == (2, True)


@pytest.mark.parametrize(
    ("places", "words", "line"),
    [
        (("gs://b/k", "x"), (), "tradewind wrap -- rclone copy REMOTE:b/k x"),
        (("x", "az://c/k"), (), "tradewind wrap -- rclone copy x REMOTE:c/k"),
        (("sftp://h/x", "x"), (), "no remote of type 'sftp' for h"),
        (("ftp://h/x", "x"), (), "--mover globus-url-copy"),
        (("gsiftp://h/x", "x"), (), "add --mover globus-url-copy"),
        (("root://h/x", "x"), (), "https:// door"),
        (("davs://h/x", "x"), (), "write http:// or https://"),
        (("sftp://u:secret@h/x", "x"), (), "takes no password"),
        (("gs://b/k", "http://h/"), (), "one end must be local"),
        (("gs://b/k", "gs://b/l", "x"), (), "one source at a time"),
        (("gs://b/k", "x"), ("--insecure",), "--ca-file, --cert, --insecure: is not for gs://"),
        (("gs://b/k", "x"), ("--mover", "curl"), "curl is not driven for gs://"),
        (("gs://b/k", "x"), ("--compress", "auto"), "rclone does not pack files"),
    ],
)
def test_copy_that_needs_another_tool_ends_with_one_line_that_says_how(user, tmp_path, places, words, line):
    ended = run("copy", *WAN, *words, *places, env=user, cwd=tmp_path)
    assert ended.code == 2
    assert line in ended.error
    assert "secret" not in ended.err
    assert len(ended.err.strip().splitlines()) == 1
