"""`tradewind transport` on the kernel of this machine, and what it says where something is missing."""

import json
import os
import shutil
import socket
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.transport import installed
from tests.integration.agent.support.command import environment
from tests.integration.serve_files.serving import serving
from tests.integration.transport.conftest import require_replaceable
from tradewind_agent.errors import OtherVersionLoaded
from tradewind_agent.transport import installation
from tradewind_agent.transport.building import compile_object
from tradewind_agent.transport.libbpf import Library, Pins
from tradewind_agent.transport.parameters import LAYOUT_BYTES, Parameters
from tradewind_agent.transport.requirements import BTF, require_tools

DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")


@pytest.fixture
def tradewind(tmp_path):
    """Runs ``tradewind transport …``; the finished process."""

    def run(*arguments: str, before: tuple[str, ...] = (), **variables: str) -> subprocess.CompletedProcess[str]:
        command = [*before, sys.executable, "-P", "-m", "tradewind_agent", "transport", *arguments]
        where = environment(tmp_path / "home") | variables
        return subprocess.run(command, env=where, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A sender and its receiver on the loopback."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as sender,
    ):
        receiver, _ = listener.accept()
        with receiver:
            yield sender, receiver


def choose(sender: socket.socket, name: str = installation.NAME) -> None:
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())


def chosen(each: socket.socket) -> str:
    return each.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()


def test_installed_control_is_chosen_by_single_sockets_and_is_no_default(kernel, tradewind, connected):
    default = DEFAULT.read_text()
    state = json.loads(tradewind("install", "--json").stdout)
    sender, receiver = connected
    choose(sender)
    assert [state[name] for name in ("registered", "ours", "current", "changed")] == [True] * 4
    assert state["parameters"] == {"growth_factor": 3, "threshold_bytes": 2_000_000, "initial_window_segments": 10}
    assert chosen(sender) == "fld_tcp"
    assert chosen(receiver) == default.strip() == DEFAULT.read_text().strip()


def test_installed_twice_is_installed_once_and_removed_twice_is_removed_once(kernel, tradewind):
    tradewind("remove")
    changed = [
        json.loads(tradewind(word, "--json").stdout)["changed"] for word in ("install", "install", "remove", "remove")
    ]
    assert changed == [True, False, True, False]
    assert tradewind("status").returncode == 1


def test_removed_control_can_be_installed_again_at_once(kernel):
    for _ in range(10):
        installation.install(Parameters())
        assert not installation.remove().state.registered


def test_a_dry_run_says_what_it_would_do_and_does_nothing(kernel, tradewind):
    tradewind("remove")
    said = tradewind("install", "--dry-run").stdout
    assert "would register fld_tcp" in said
    assert not installation.read_state().registered


def test_other_parameters_are_taken_once_those_current_are_removed(installed, tradewind):
    refused = tradewind("install", "--threshold", "5MB")
    assert refused.returncode == 1
    assert refused.stderr == (
        "tradewind: fld_tcp with other parameters is loaded; run `tradewind transport remove` first\n"
    )
    tradewind("remove")
    assert tradewind("install", "--threshold", "5MB", "--initial-window", "0").returncode == 0
    assert "up to 5,000,000 bytes, initial window of the system" in tradewind("status").stdout


def make_map(path: Path, *, kind: str = "array", key_bytes: int = 4, value_bytes: int = LAYOUT_BYTES) -> None:
    form = f"type {kind} key {key_bytes} value {value_bytes} entries 1 name other"
    subprocess.run([require_tools().bpftool, "map", "create", path, *form.split()], check=True)


def test_a_version_whose_parameters_are_outside_our_limits_is_reported_and_can_be_removed(kernel, tradewind, tmp_path):
    pins = Pins(installation.PIN_FOLDER)
    pins.folder.mkdir(mode=0o700)
    constants = struct.pack("=QII16s", 2_000_000, 9, 10, b"another version.")
    made = compile_object(require_tools(), BTF, tmp_path)
    Library().load(made, name=installation.NAME, constants=constants, pins=pins)
    assert tradewind("status").stdout.splitlines()[1] == (
        "it is another version than this agent's: its parameters are outside this version's limits: "
        "growth_factor: must be within 2 and 8, got 9; `tradewind transport remove`, then install"
    )
    assert "another version is loaded; run `tradewind transport remove` first" in tradewind("install").stderr
    assert tradewind("remove").returncode == 0
    assert not installation.read_state().registered
    assert not pins.folder.exists()


def test_a_version_with_parameters_of_another_size_is_reported_and_can_be_removed(installed, tradewind):
    held = Pins(installation.PIN_FOLDER).parameters
    held.unlink()
    make_map(held, value_bytes=4 * LAYOUT_BYTES)
    told = json.loads(tradewind("status", "--json").stdout)
    assert [told[name] for name in ("registered", "ours", "current", "parameters")] == [True, True, False, None]
    with pytest.raises(pytest.skip.Exception):
        require_replaceable(installation.read_state())
    assert told["parameters_unknown"] == "its parameters have 128 bytes where this version's have 32"
    assert tradewind("remove").returncode == 0
    assert not installation.read_state().registered


@pytest.mark.parametrize(
    "form", [{"value_bytes": LAYOUT_BYTES - 8}, {"kind": "hash"}, {"kind": "hash", "key_bytes": 8}]
)
def test_nothing_is_read_that_has_another_form(kernel, form):
    pinned = installation.BPF_FOLDER / f"tradewind-test-{os.getpid()}"
    make_map(pinned, **form)
    try:
        with pytest.raises(OtherVersionLoaded):
            Library().read_constants(pinned, LAYOUT_BYTES)
    finally:
        pinned.unlink()


def test_a_connection_that_uses_it_goes_on_when_it_is_removed(installed, tradewind, connected):
    sender, receiver = connected
    choose(sender)
    received = bytearray()
    whole = threading.Event()

    def receive() -> None:
        while len(received) < 2_000_000 and (part := receiver.recv(1 << 16)):
            received.extend(part)
        whole.set()

    threading.Thread(target=receive, daemon=True).start()
    sender.sendall(bytes(1_000_000))
    assert tradewind("remove").returncode == 0
    sender.sendall(bytes(1_000_000))
    assert whole.wait(30)
    assert chosen(sender) == "fld_tcp"
    with pytest.raises(FileNotFoundError):
        choose(receiver)


def test_a_served_folder_sends_by_it(installed, tmp_path):
    with serving(tmp_path, congestion_control="fld_tcp") as server:
        assert server.refusal is None
        assert [chosen(each) for each in server._listener.sockets] == ["fld_tcp"]


def test_a_folder_is_served_without_it_too_and_the_reason_is_reported(tmp_path):
    with serving(tmp_path, congestion_control="of_no_kernel") as server:
        assert [chosen(each) for each in server._listener.sockets] == [DEFAULT.read_text().strip()]
        assert server.refusal == (
            "the kernel refuses of_no_kernel: it has none of this name; `tradewind transport install` brings fld_tcp"
        )


def test_pin_folder_is_writable_by_its_owner_alone(kernel, tradewind):
    folder = installation.PIN_FOLDER
    tradewind("install")
    assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0
    tradewind("remove")
    assert not folder.exists()
    folder.mkdir()
    try:
        folder.chmod(0o777)
        refused = tradewind("install")
        assert (refused.returncode, "no folder of root's alone" in refused.stderr) == (1, True)
        assert not installation.read_state().registered
    finally:
        folder.rmdir()


def test_simultaneous_installs_and_removals_run_one_after_the_other(kernel, tradewind):
    """Begun at once: each finds what another has finished, and none what another has begun."""
    words = ["install", "remove"] * 3
    with ThreadPoolExecutor(len(words)) as pool:
        done = list(pool.map(tradewind, words))
    assert [each.returncode for each in done] == [0] * len(words), [each.stderr for each in done]
    installation.remove()


def test_last_of_concurrent_benchmarks_removes_the_installed_fld_tcp(kernel, monkeypatch, tmp_path):
    monkeypatch.setattr(installed, "USERS", tmp_path / "users")
    with installed.install_fld_tcp():
        with installed.install_fld_tcp():
            assert installation.read_state().registered
        assert installation.read_state().registered
    assert not installation.read_state().registered
    installation.install(Parameters())
    with installed.install_fld_tcp():
        pass
    assert installation.read_state().registered
    (tmp_path / "users").write_text(installed.read_installation_id())  # as a benchmark leaves it that was killed
    installation.remove()
    installation.install(Parameters())
    with installed.install_fld_tcp():
        pass
    assert installation.read_state().registered, "it was installed by hand since"
    (tmp_path / "users").write_text(installed.read_installation_id())
    with installed.install_fld_tcp():
        pass
    assert not installation.read_state().registered


def test_without_the_kernels_types_nothing_is_tried(kernel, tradewind, tmp_path):
    missing = tradewind("install", "--btf", str(tmp_path / "none"))
    assert missing.returncode == 1
    assert missing.stderr.startswith(f"tradewind: no BTF of the running kernel at {tmp_path}/none (No such file")
    (tmp_path / "other").write_bytes(b"\0tcp_sock\0")
    assert "takes no congestion control in eBPF" in tradewind("install", "--btf", str(tmp_path / "other")).stderr


def test_without_a_compiler_the_packages_are_named(kernel, tradewind, tmp_path):
    refused = tradewind("install", PATH=str(tmp_path))
    assert refused.returncode == 1
    assert "needs these packages (names of Debian): clang " in refused.stderr


def test_user_without_permission_may_read_the_state_but_not_install():
    """Whoever runs this test: the capabilities are given up on the way."""
    drop = () if os.geteuid() else (shutil.which("setpriv") or "setpriv", "--bounding-set=-all", "--inh-caps=-all")

    def run(word: str) -> subprocess.CompletedProcess[str]:
        command = [*drop, sys.executable, "-P", "-m", "tradewind_agent", "transport", word]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    refused = run("install")
    assert refused.returncode == 1
    assert refused.stderr.startswith("tradewind: CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN needed")
    assert "the system's default is" in run("status").stdout
