"""An API process: how each is started, and one of several that share a port.

Each of several listens there by itself (SO_REUSEPORT, Linux): the kernel spreads connections over those that are there,
so that one that ends, or starts, keeps nobody waiting whom another can answer.
"""

import gc
import socket
import sys
from argparse import ArgumentParser
from collections.abc import Sequence

HTTP = "services.api.arrival:BoundedHttp"
APP = "services.app:app_from_environment"
KEEP_ALIVE_S = 150  # longer than agents and proxies keep an idle connection: a request sent while we close it is lost
STREAMS_END_S = 5  # pages that follow what goes on would keep a server from ending


def main(arguments: Sequence[str] = ()) -> int:
    """Serve until told to stop; 0, or 1 for a start that failed."""
    parser = ArgumentParser(prog="python -m services.api_process", description=__doc__)
    parser.add_argument("--app", default=APP, help="a factory, as uvicorn takes it")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", required=True, type=int)
    parser.add_argument("--forwarded-allow-ips", required=True, help="proxies that are believed")
    options = parser.parse_args(arguments)
    gc.disable()  # little of what is imported becomes garbage; the application turns it on
    import uvicorn  # noqa: PLC0415 -- ``services.serve`` takes the names above alone

    config = uvicorn.Config(
        options.app,
        factory=True,
        access_log=False,
        log_level="warning",
        http=HTTP,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=STREAMS_END_S,
        forwarded_allow_ips=options.forwarded_allow_ips,
    )
    config.load_app()
    server = uvicorn.Server(config)
    try:
        server.run(sockets=[shared_socket(options.host, options.port)])
    except KeyboardInterrupt:
        return 0
    return 0 if server.started else 1


def shared_socket(host: str, port: int) -> socket.socket:
    """A socket of a port that others may listen on, too; it listens when the server does."""
    ((family, kind, protocol, _, address), *_) = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind(address)
    return made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
