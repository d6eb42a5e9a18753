"""A web server of a small tree that is made up: index pages in HTML, files, and statuses in their place."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Tree = Mapping[str, bytes | int]
"""Path below the top → content of a file, or the status that a folder or file answers with."""


@contextmanager
def serving_tree(tree: Tree, *, query: str = "") -> Iterator[str]:
    """Serve ``tree`` on loopback; the value is the address of its top. ``query`` goes behind each link to a file."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0].removeprefix("/")
            found = tree.get(path)
            if isinstance(found, int):
                self._answer(found, b"", "text/plain")
            elif found is not None:
                self._answer(200, found, "application/octet-stream")
            elif path == "" or path.endswith("/"):
                self._answer(200, _index(tree, path, query), "text/html")
            else:
                self._answer(404, b"", "text/plain")

        def do_HEAD(self) -> None:
            self.do_GET()

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _index(tree: Tree, folder: str, query: str) -> bytes:
    below = {path.removeprefix(folder) for path in tree if path.startswith(folder)}
    names = {name if "/" not in name else name.partition("/")[0] + "/" for name in below}
    links = (f'<a href="{name}{"" if name.endswith("/") else query}">{name}</a>' for name in sorted(names))
    return "<br>".join(links).encode()
