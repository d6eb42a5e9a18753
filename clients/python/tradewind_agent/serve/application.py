"""Which request is answered by what: authorisation, method, then energy report, download or upload."""

import hmac
from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus

from tradewind_agent.serve.downloads.download import answer_download
from tradewind_agent.serve.downloads.packing_slots import PackingSlots
from tradewind_agent.serve.downloads.properties import answer_properties
from tradewind_agent.serve.downloads.sums import FileSums
from tradewind_agent.serve.folder import ServedFolder, parse_segments
from tradewind_agent.serve.host_names import make_host_check
from tradewind_agent.serve.messages import ReceivedRequest, RequestRefused, Response, build_json_response
from tradewind_agent.serve.options import ServeOptions
from tradewind_agent.serve.transfer_meters import TransferMeters
from tradewind_agent.serve.uploads.packed_upload import make_packing_fields
from tradewind_agent.serve.uploads.receiver import Receiver
from tradewind_agent.session.transfer_naming import (
    ACCEPTED_RESOURCES_PATH,
    TRANSFERS_PATH,
    parse_energy_path,
    parse_energy_so_far_path,
)

_Answer = Callable[[ReceivedRequest, Sequence[str]], Awaitable[Response]]

_READ_METHODS = "GET, HEAD, PROPFIND, OPTIONS"


class Application:
    """Answers requests on one served folder; without a ``receiver`` it is read-only, without ``meters`` not metered."""

    def __init__(
        self, folder: ServedFolder, receiver: Receiver | None, meters: TransferMeters | None, options: ServeOptions
    ) -> None:
        self._folder = folder
        self._receiver = receiver
        self._meters = meters
        self._accepted_resources = options.accepted_resources
        self._packing = PackingSlots(options.limits.max_packed_downloads)
        self._sums = FileSums()
        self._token = options.bearer_token
        self._check_host = make_host_check(options)
        self._allowed = _READ_METHODS + ("" if receiver is None else ", PUT, DELETE, MKCOL")

    async def answer(self, request: ReceivedRequest) -> Response:
        """Return the response to ``request``.

        Raises
        ------
        RequestRefused : anything that cannot be done, with the status that says why.
        """
        self._check_host(request.headers.get("host", ""))
        self._authorise(request)
        if request.method == "OPTIONS":
            return Response(HTTPStatus.NO_CONTENT, [("Allow", self._allowed), *make_packing_fields()])
        is_read = request.method in ("GET", "HEAD", "PROPFIND")
        if request.method in ("GET", "HEAD") and request.target.startswith(TRANSFERS_PATH):
            return await self._answer_query(request.target)
        segments = parse_segments(request.target)
        self._folder.require_served(segments, is_read=is_read)
        if self._receiver is not None and (answer := _choose_of_receiver(self._receiver, request)) is not None:
            return await answer(request, segments)
        if request.method == "PROPFIND":
            return await answer_properties(self._folder, request, segments)
        if is_read:
            return await answer_download(self._folder, request, segments, self._packing, self._sums)
        raise RequestRefused(
            HTTPStatus.METHOD_NOT_ALLOWED, f"{request.method} is not served here", ("Allow", self._allowed)
        )

    async def _answer_query(self, target: str) -> Response:
        if target == ACCEPTED_RESOURCES_PATH:
            return build_json_response(HTTPStatus.OK, {"accepted": sorted(self._accepted_resources)})
        return await _answer_energy_report(self._meters, target)

    def close(self) -> None:
        """Stop packing."""
        self._packing.close()

    def is_authorised(self, request: ReceivedRequest) -> bool:
        """Return whether a request carries the token, where one is needed."""
        if self._token is None:
            return True
        given = _extract_token(request.headers.get("authorization", ""))
        return hmac.compare_digest(given, self._token.encode())

    def _authorise(self, request: ReceivedRequest) -> None:
        if not self.is_authorised(request):
            challenge = 'Bearer realm="tradewind", Basic realm="tradewind"'
            raise RequestRefused(HTTPStatus.UNAUTHORIZED, "the token is needed", ("WWW-Authenticate", challenge))


def _choose_of_receiver(receiver: Receiver, request: ReceivedRequest) -> _Answer | None:
    """Return what of the receiver answers a request; ``None`` for one that is not about uploads."""
    if request.method == "HEAD":
        return receiver.answer_status if "tradewind-upload" in request.headers else None
    methods: dict[str, _Answer] = {
        "PUT": receiver.answer_put,
        "DELETE": receiver.answer_delete,
        "MKCOL": receiver.answer_mkcol,
    }
    return methods.get(request.method)


def _extract_token(authorization: str) -> bytes:
    """Return a bearer's token, or the password of a login.

    What tools that know of netrc and addresses alone can send.
    """
    scheme, _, given = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return given.strip().encode("latin-1")
    if scheme.lower() == "basic":
        try:
            return b64decode(given.strip(), validate=True).partition(b":")[2]
        except ValueError:
            return b""
    return b""


async def _answer_energy_report(meters: TransferMeters | None, target: str) -> Response:
    """Return what a transfer took here, or what it would be metered with."""
    if meters is None:
        raise RequestRefused(HTTPStatus.NOT_FOUND, "energy is not metered here")
    if target == TRANSFERS_PATH:
        return build_json_response(HTTPStatus.OK, meters.described.model_dump(mode="json"))
    transfer_id = parse_energy_path(target)
    if (running_id := parse_energy_so_far_path(target)) is not None:
        report = await meters.report(running_id, is_over=False)
    else:
        report = None if transfer_id is None else await meters.report(transfer_id)
    if report is None:
        raise RequestRefused(HTTPStatus.NOT_FOUND, "no such transfer came by here lately")
    if isinstance(report, str):
        raise RequestRefused(HTTPStatus.SERVICE_UNAVAILABLE, f"the energy is not known: {report}")
    return build_json_response(HTTPStatus.OK, report.model_dump(mode="json", exclude_none=True))
