"""An HTTP server with documents that a test may change while it answers."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Documents:
    """``bodies`` : by path; ``authorizations`` : sent with requests; ``login`` : required, where it is not None."""

    def __init__(self, bodies: dict[str, str]) -> None:
        self.bodies = bodies
        self.login: str | None = None
        self.requests: list[tuple[str, str]] = []
        self.url = ""


@contextmanager
def serve_documents(bodies: dict[str, str]) -> Iterator[Documents]:
    documents = Documents(bodies)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            documents.requests.append((self.command, self.path))
            refused = documents.login is not None and self.headers.get("Authorization") != documents.login
            body = documents.bodies.get(self.path)
            self.send_response(401 if refused else 404 if body is None else 200)
            content = b"" if refused or body is None else body.encode()
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    documents.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield documents
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
