"""An emulated wide-area path for real programs: what it delivers and costs; or up, down, show, set.

./run bench testbed                                   measures the emulation itself
./run bench testbed up --rate 100Mbps --rtt 60ms      sets a path up, until Ctrl-C or down
./run bench testbed up --trace FILE --row 3           its rate follows a recorded transfer
./run bench testbed show                              testbeds of this machine: hosts, what the links carried
./run bench testbed set --rate 20Mbps                 changes the path that is up
./run bench testbed down                              takes down those that are up and what killed ones left
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from benchmarks.support.command import run_command
from benchmarks.support.report import Value, format_table
from benchmarks.testbed import calibration
from benchmarks.testbed.emulator import LinkControl
from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.leftovers import State, list_states, remove_leftovers
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.permissions import become_root_of_a_user_namespace, require_permission
from benchmarks.testbed.schedule import Step, run_schedule
from benchmarks.testbed.testbed import Testbed
from benchmarks.testbed.traces import read_traces, replay
from tradewind.errors import InvalidValue, NotFound
from tradewind.units import parse_bps, parse_bytes, parse_seconds

UP = "up"
DOWN_PATIENCE_S = 10.0
_POLL_S = 0.05


def main(argv: Sequence[str]) -> int:
    if not argv or argv[0].startswith("-"):
        return run_command("testbed", lambda: calibration.main(argv))
    options = _build_parser().parse_args(argv)
    return run_command("testbed", lambda: options.run(options))


def set_up(options: argparse.Namespace) -> int:
    """Keep a testbed up until Ctrl-C, SIGTERM or `take_down`."""
    become_root_of_a_user_namespace([sys.executable, "-P", "-m", "benchmarks.testbed", *sys.argv[1:]])
    path = _parse_path(options)
    steps = _read_steps(options, path) if options.trace is not None else []
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    with suppress(KeyboardInterrupt), Testbed(path, clients=options.clients, seed=options.seed, purpose=UP) as bed:
        sys.stdout.write(f"{path}; TCP: {bed.read_tcp_settings()}\n")
        sys.stdout.write(format_table([{"host": host.namespace, "address": host.address} for host in bed.hosts]) + "\n")
        sys.stdout.write(f"run a program there: ip netns exec {bed.clients[0].namespace} PROGRAM\nup; Ctrl-C ends it\n")
        sys.stdout.flush()

        def apply(path: PathSpec) -> None:
            bed.change(path)
            sys.stdout.write(f"{path}\n")
            sys.stdout.flush()

        with run_schedule(apply, steps):
            signal.pause()
    return 0


def _read_steps(options: argparse.Namespace, path: PathSpec) -> list[Step]:
    """Return the steps of the path whose rate follows a recorded transfer."""
    traces = read_traces(options.trace)
    if not 1 <= options.row <= len(traces):
        raise InvalidValue("row", f"{options.trace} has complete records 1 to {len(traces)}, got {options.row}")
    return replay(traces[options.row - 1], path, interval_s=parse_seconds(options.interval))


def take_down(_: argparse.Namespace) -> int:
    """Take down every testbed of this machine that `set_up` has set up or a killed one has left."""
    require_permission()
    for name in remove_leftovers():
        sys.stdout.write(f"{name}: leftovers removed\n")
    for state in list_states():
        if state.purpose != UP:
            sys.stdout.write(f"{state.name}: in use by process {state.owner}, left alone\n")
            continue
        with suppress(ProcessLookupError):
            os.kill(state.owner, signal.SIGTERM)
        deadline = time.monotonic() + DOWN_PATIENCE_S
        while state.is_alive and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        sys.stdout.write(f"{state.name}: {'does not end' if state.is_alive else 'down'}\n")
    remove_leftovers()
    return 0


def list_testbeds(_: argparse.Namespace) -> int:
    """List the testbeds of this machine and what their links carried."""
    rows = [_build_row(state) for state in list_states()]
    sys.stdout.write((format_table(rows) if rows else "no testbed is up") + "\n")
    return 0


def change_path(options: argparse.Namespace) -> int:
    """Change the path of the one testbed that is up, or of the one named."""
    path = _parse_path(options)
    with LinkControl(_choose_state(options.name).folder / "link") as control:
        control.apply(path)
    sys.stdout.write(f"{path}\n")
    return 0


def _choose_state(name: str | None) -> State:
    with_link = [state for state in list_states() if (state.folder / "link").exists()]
    live = [state for state in with_link if state.is_alive and name in (None, state.name)]
    if not live:
        raise NotFound("no testbed is up")
    if len(live) > 1:
        raise NotFound(f"several are up, give one as --name: {', '.join(state.name for state in live)}")
    return live[0]


def _build_row(state: State) -> dict[str, Value]:
    row: dict[str, Value] = {
        "testbed": state.name,
        "owner": state.owner,
        "state": "up" if state.is_alive else "left over",
        "hosts": len(state.namespaces),
    }
    with suppress(EmulationBroke), LinkControl(state.folder / "link") as control:
        counters = control.read_counters()
        for name, direction in (("down", counters.down), ("up", counters.up)):
            row[f"{name} bytes"] = direction.bytes
            row[f"{name} dropped"] = direction.dropped
            row[f"{name} lost"] = direction.lost
    return row


def _parse_path(options: argparse.Namespace) -> PathSpec:
    return PathSpec(
        rate_bps=parse_bps(options.rate),
        rtt_s=parse_seconds(options.rtt),
        loss_rate=_parse_loss(options.loss),
        queue_bytes=parse_bytes(options.queue) if options.queue is not None else None,
    )


def _parse_loss(text: str) -> float:
    return float(text.rstrip("%")) / (100 if text.endswith("%") else 1)


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./run bench testbed", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    about = {"up": set_up, "down": take_down, "show": list_testbeds, "set": change_path}
    for name, run in about.items():
        command = commands.add_parser(name, help=(run.__doc__ or "").partition("\n")[0])
        command.set_defaults(run=run)
        if name in ("up", "set"):
            _add_path(command)
        if name == "up":
            command.add_argument("--clients", type=int, default=1)
            command.add_argument("--trace", type=Path, help="CSV whose columns t1, t2, … the rate follows")
            command.add_argument("--row", type=int, default=1, help="which record of it")
            command.add_argument("--interval", default="5s", help="from one of its columns to the next")
            command.add_argument("--seed", type=int, default=1, help="of the random losses")
        if name == "set":
            command.add_argument("--name", help="which, where several are up")
    return parser


def _add_path(command: argparse.ArgumentParser) -> None:
    command.add_argument("--rate", default="100Mbps")
    command.add_argument("--rtt", default="60ms")
    command.add_argument("--loss", default="0.02%", help="each way")
    command.add_argument("--queue", help="size of the drop-tail queue; one bandwidth-delay product by default")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
