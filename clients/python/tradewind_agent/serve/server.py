"""Start, stop and watch a server of one folder."""

import asyncio
import contextlib
import os
import signal
import ssl
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.serve.application import Application
from tradewind_agent.serve.connection import ServerConnection
from tradewind_agent.serve.counters import Counters
from tradewind_agent.serve.folder import ServedFolder
from tradewind_agent.serve.open_connections import OpenConnections
from tradewind_agent.serve.options import AccessObserver, ServeOptions, ServerLimits, TlsFiles
from tradewind_agent.serve.resource_requests import ResourceHold, ResourceRequests
from tradewind_agent.serve.transfer_meters import TransferMeters
from tradewind_agent.serve.uploads.quota import StorageQuota
from tradewind_agent.serve.uploads.receiver import Receiver
from tradewind_agent.serve.uploads.uploads import OpenUploads
from tradewind_agent.session.metering import HostMeter
from tradewind_agent.transport.choosing import choose_congestion_control

_BACKLOG = 1024


class Server:
    """A listening server; made by ``serve``.

    Attributes
    ----------
    refusal : why its connections do not send by the congestion control asked for; None where they do.
    """

    def __init__(self, options: ServeOptions, *, wall_clock: Callable[[], float] = time.time) -> None:
        self.options = options
        self.counters = Counters()
        self._folder = ServedFolder(options.root, hidden=options.hidden)
        self._space = StorageQuota(options.limits.quota_bytes)
        self._uploads = OpenUploads(
            self._space, boot=_read_boot_id(), part_expiry_s=options.limits.part_expiry_s, clock=wall_clock
        )
        receiver = Receiver(self._folder, self._uploads, self._space, options.limits)
        self._meters = None if options.meter is None else TransferMeters(options.meter, time.monotonic)
        self._application = Application(self._folder, receiver if options.writable else None, self._meters, options)
        self._resources: ResourceRequests | None = None
        self._hold_resources: ResourceHold = lambda *_: contextlib.nullcontext()
        if options.accepted_resources:
            limiter = ResourceLimiter.of_this_host(os.environ)
            self._resources = ResourceRequests(
                limiter, options.accepted_resources, self._application.is_authorised, time.monotonic
            )
            self._hold_resources = self._resources.hold
        self._connections = OpenConnections()
        self._wall_clock = wall_clock
        self.refusal: str | None = None
        self._listener: asyncio.Server
        self._watch: asyncio.Task[None]

    async def start(self) -> None:
        """Listen; the port is known once this returns."""
        loop = asyncio.get_running_loop()
        try:
            tls = None if self.options.tls is None else _make_tls_context(self.options.tls)
            if self.options.writable:
                await asyncio.to_thread(self._space.measure, self._folder.root)
            if self._meters is not None:
                await self._meters.start()
            self._listener = await loop.create_server(
                self._accept, self.options.host, self.options.port, ssl=tls, backlog=_BACKLOG, reuse_address=True
            )
        except BaseException:
            self._folder.close()
            raise
        if self.options.congestion_control is not None:
            self.refusal = choose_congestion_control(self._listener.sockets, self.options.congestion_control)
        self._watch = loop.create_task(self._drop_stalled())

    @property
    def port(self) -> int:
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        host = f"[{self.options.host}]" if ":" in self.options.host else self.options.host
        return f"{'http' if self.options.tls is None else 'https'}://{host}:{self.port}/"

    async def close(self, grace_s: float | None = None) -> None:
        """Stop listening, let requests under way finish for ``grace_s`` seconds, then drop what is left."""
        await self._stop_listening()
        for connection in list(self._connections):
            connection.stop()
        tasks = [asyncio.ensure_future(connection.wait_closed()) for connection in list(self._connections)]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self.options.grace_s if grace_s is None else grace_s)
            for connection in list(self._connections):
                connection.abort()
            if late:
                await asyncio.wait(late)
        self._watch.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._watch
        await self._listener.wait_closed()
        if self._meters is not None:
            await self._meters.close()
        if self._resources is not None:
            await self._resources.close()
        self._application.close()
        self._uploads.close()
        self._folder.close()

    async def _stop_listening(self) -> None:
        """Accept nothing more, and drop what is accepted but not made yet.

        asyncio cannot make a connection whose listener is closed: its socket would stay open.
        """
        self._connections.is_closed = True
        loop = asyncio.get_running_loop()
        for listening in self._listener.sockets:
            loop.remove_reader(listening.fileno())
        await asyncio.sleep(0)  # what was accepted before is scheduled before this
        self._listener.close()

    def _accept(self) -> ServerConnection:
        return ServerConnection(
            self._application.answer,
            self.options,
            self.counters,
            self._connections,
            meters=self._meters,
            hold_resources=self._hold_resources,
            wall_clock=self._wall_clock,
        )

    async def _drop_stalled(self) -> None:
        limits = self.options.limits
        loop = asyncio.get_running_loop()
        pause_s = min(1.0, limits.head_timeout_s / 4, limits.idle_timeout_s / 4, limits.stall_timeout_s / 4)
        while True:
            await asyncio.sleep(pause_s)
            now_s = loop.time()
            for connection in [each for each in self._connections if each.deadline_s < now_s]:
                connection.abort()


def _make_tls_context(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(files.certificate, files.key)
    return context


def _read_boot_id() -> str:
    """Return the id of the current boot; empty where the kernel has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


async def serve(
    root: Path,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    writable: bool = False,
    tls: TlsFiles | None = None,
    bearer_token: str | None = None,
    allowed_hosts: Sequence[str] = (),
    hidden: bool = False,
    limits: ServerLimits | None = None,
    sendfile: bool = True,
    observer: AccessObserver | None = None,
    meter: HostMeter | None = None,
    congestion_control: str | None = None,
) -> Server:
    """Serve the folder ``root`` in the running event loop until ``close`` is called; see ``ServeOptions``.

    Raises
    ------
    OSError : the folder does not exist or the address is taken.
    ssl.SSLError : certificate and key do not fit.
    """
    server = Server(
        ServeOptions(
            root=root,
            host=host,
            port=port,
            writable=writable,
            tls=tls,
            bearer_token=bearer_token,
            allowed_hosts=allowed_hosts,
            hidden=hidden,
            limits=limits or ServerLimits(),
            sendfile=sendfile,
            observer=observer,
            meter=meter,
            congestion_control=congestion_control,
        )
    )
    await server.start()
    return server


def serve_forever(
    options: ServeOptions,
    *,
    on_ready: Callable[[Server], None] | None = None,
    on_counters: Callable[[Counters], None] | None = None,
    counters_interval_s: float = 1.0,
) -> Counters:
    """Serve until SIGINT or SIGTERM, stop gracefully, and return the counters.

    Parameters
    ----------
    on_ready : called with the listening server, whose port and address are known.
    on_look : called with the counters every ``counters_interval_s`` seconds.
    """
    return asyncio.run(_serve_until_signalled(options, on_ready, on_counters, counters_interval_s))


async def _serve_until_signalled(
    options: ServeOptions,
    on_ready: Callable[[Server], None] | None,
    on_counters: Callable[[Counters], None] | None,
    counters_interval_s: float,
) -> Counters:
    stop_event = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop_event.set)
    server = Server(options)
    await server.start()
    try:
        if on_ready is not None:
            on_ready(server)
        while not stop_event.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if on_counters is None else counters_interval_s):
                    await stop_event.wait()
            if on_counters is not None:
                on_counters(server.counters)
    finally:
        await server.close()
    return server.counters
