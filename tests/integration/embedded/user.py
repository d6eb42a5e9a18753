"""A process of its own that uses an embedded server: prints the server's URL, leaves when its standard input ends."""

import sys
from functools import partial
from pathlib import Path

from services.embedded.errors import CannotStart
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey

SERVERS = {"postgres": partial(EmbeddedPostgres, durable=False), "valkey": EmbeddedValkey}

if __name__ == "__main__":
    kind, folder = sys.argv[1:]
    try:
        with SERVERS[kind](Path(folder)) as server:
            print(server.url(), flush=True)
            sys.stdin.read()
    except CannotStart as error:
        sys.exit(str(error))
