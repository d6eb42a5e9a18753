"""Which request is answered by what: authorisation, method, then download or upload."""

import hmac
from http import HTTPStatus

from tradewind_agent.serve.download import answer_download
from tradewind_agent.serve.folder import ServedFolder, segments_of
from tradewind_agent.serve.messages import Refused, Request, Response
from tradewind_agent.serve.options import ServeOptions

_READ_METHODS = "GET, HEAD, OPTIONS"


class Application:
    """Answers requests on one served folder."""

    def __init__(self, folder: ServedFolder, options: ServeOptions) -> None:
        self._folder = folder
        self._token = options.bearer_token
        self._allowed = _READ_METHODS + (", PUT" if options.writable else "")

    async def answer(self, request: Request) -> Response:
        """The response to ``request``.

        Raises
        ------
        Refused : anything that cannot be done, with the status that says why.
        """
        self._authorise(request)
        if request.method == "OPTIONS":
            return Response(HTTPStatus.NO_CONTENT, [("Allow", self._allowed)])
        if request.method in ("GET", "HEAD"):
            return await answer_download(self._folder, request, segments_of(request.target))
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"{request.method} is not served here", ("Allow", self._allowed))

    def _authorise(self, request: Request) -> None:
        if self._token is None:
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        right = hmac.compare_digest(given.strip().encode("latin-1"), self._token.encode())
        if scheme.lower() != "bearer" or not right:
            raise Refused(
                HTTPStatus.UNAUTHORIZED, "a bearer token is needed", ("WWW-Authenticate", 'Bearer realm="tradewind"')
            )
