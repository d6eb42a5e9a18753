"""The API's processes: one parent starts the others, which answer, and replaces each that ends.

It imports the application and forks: a new process answers within a moment, not after the seconds that importing takes
on a busy machine, and all share the memory of the imports. Each listens on the port by itself (SO_REUSEPORT, Linux):
the kernel spreads connections over the living ones, so that one that ends, or starts, keeps no client waiting. All of
them end with the parent.
"""

import gc
import multiprocessing
import os
import signal
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from multiprocessing.process import BaseProcess

from services.listening import MAX_PORT, bind_shared_socket, parse_proxies
from tradewind.errors import InvalidValue

APP = "services.app:app_from_environment"
HTTP = "services.api.arrival:BoundedHttp"
KEEP_ALIVE_S = 150  # longer than agents and proxies keep an idle connection: a request sent while we close it is lost
STREAMS_END_S = 5  # pages with live updates would keep a server from ending

HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
"""Signals that the parent takes one after the other, and never within anything else."""

HEALTHY_AFTER_S, PAUSE_S = 5.0, 0.5
"""A process that was killed sooner is replaced after a pause, lest restarts take the machine."""


def main(arguments: Sequence[str] = ()) -> int:
    """Serve until asked to stop; return 0, or the exit code of a process that ended by itself, after which the others
    end.
    """
    parser = ArgumentParser(prog="python -m services.api_process", description=__doc__)
    parser.add_argument("--app", default=APP, help="a factory, as uvicorn takes it")
    parser.add_argument("--http", default=HTTP, help="of a connection, as uvicorn takes it")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", required=True, type=_parse_port)
    parser.add_argument("--forwarded-allow-ips", default="", help="proxies that are believed, by commas")
    parser.add_argument("--processes", type=int, default=1, help="that answer; else 1")
    options = parser.parse_args(arguments)
    try:
        options.forwarded_allow_ips = _format_proxies(options.forwarded_allow_ips)
        bind_shared_socket(options.host, options.port).close()
    except InvalidValue as wrong:
        sys.stderr.write(f"api: {wrong}\n")
        return 2
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    _import(options)
    return Answering(options).run()


def _parse_port(text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_PORT:
        raise ArgumentTypeError(f"must be a number from 0 to {MAX_PORT}")
    return int(text)


def _format_proxies(text: str) -> str:
    try:
        return parse_proxies(text)
    except ValueError as wrong:
        raise InvalidValue("TRADEWIND_PROXIES", str(wrong)) from None


def _import(options: Namespace) -> None:
    """Import all that answering processes need, and freeze it for the garbage collector, so that its memory stays
    shared.
    """
    gc.disable()  # the application turns it on
    from uvicorn.importer import import_from_string  # noqa: PLC0415 -- others take the names above alone

    import_from_string(options.app)
    import_from_string(options.http)
    gc.freeze()


class Answering:
    """The answering processes, as children of this one."""

    def __init__(self, options: Namespace) -> None:
        self._options = options
        self._context = multiprocessing.get_context("fork")  # while nothing here has threads or connections
        self._since_s: dict[BaseProcess, float] = {}

    def run(self) -> int:
        """Run until SIGTERM or SIGINT, or until a process ends by itself."""
        try:
            for _ in range(self._options.processes):
                self._start()
            while signal.sigwait(HANDLED) == signal.SIGCHLD:
                for code in self._take_exit_codes():
                    if code >= 0:
                        return code
                    self._start()
            return 0
        finally:
            self._stop()

    def _start(self) -> None:
        process = self._context.Process(target=_answer, args=(self._options, os.getpid()))
        process.start()
        self._since_s[process] = time.monotonic()

    def _take_exit_codes(self) -> list[int]:
        """Return the exit codes of processes that have ended since the last look, negative by a signal."""
        ended = [process for process in self._since_s if process.exitcode is not None]
        lasted_s = [time.monotonic() - self._since_s.pop(process) for process in ended]
        if ended and min(lasted_s) < HEALTHY_AFTER_S:
            time.sleep(PAUSE_S)
        return [process.exitcode for process in ended if process.exitcode is not None]

    def _stop(self) -> None:
        for process in self._since_s:
            process.terminate()
        for process in self._since_s:
            process.join()


def _answer(options: Namespace, parent: int) -> None:
    """Run an answering process."""
    import uvicorn  # noqa: PLC0415

    from services.embedded.keeper import end_with_parent  # noqa: PLC0415
    from services.latency import make_room_for_descriptors, shorten_slice  # noqa: PLC0415

    # Ctrl-C reaches all processes of a terminal; the parent stops them in order
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
    end_with_parent(parent, signal.SIGTERM)
    make_room_for_descriptors()
    shorten_slice()
    config = uvicorn.Config(
        options.app,
        factory=True,
        access_log=False,
        log_level="warning",
        http=options.http,
        ws="none",  # whose library would be loaded for nothing
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=STREAMS_END_S,
        forwarded_allow_ips=options.forwarded_allow_ips,
    )
    config.load_app()
    server = uvicorn.Server(config)
    server.run(sockets=[bind_shared_socket(options.host, options.port)])
    if not server.started:
        sys.exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
