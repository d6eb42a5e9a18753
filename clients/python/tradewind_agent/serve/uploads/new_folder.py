"""MKCOL: a folder of its own (RFC 4918 §9.3). Uploads make their folders by themselves; WebDAV clients do not."""

import asyncio
import os
from collections.abc import Sequence
from http import HTTPStatus

from tradewind_agent.serve.folder import ServedFolder, make_refusal
from tradewind_agent.serve.messages import ReceivedRequest, RequestRefused, Response
from tradewind_agent.serve.uploads.quota import StorageQuota


async def make_requested_folder(
    folder: ServedFolder, space: StorageQuota, request: ReceivedRequest, segments: Sequence[str]
) -> Response:
    """Make the folder at ``segments``; the one above it must be there.

    Raises
    ------
    RequestRefused : 403, 405 where something is there, 409 where the folder above is not, 414, 415, 507.
    """
    if request.body.declared_bytes != 0:
        raise RequestRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a folder is made without a body")
    if not segments or _is_there(folder, segments):
        raise RequestRefused(HTTPStatus.METHOD_NOT_ALLOWED, "it is there already")
    await asyncio.to_thread(folder.make_folders, segments, space.reserve_folder)
    return Response(HTTPStatus.CREATED)


def _is_there(folder: ServedFolder, segments: Sequence[str]) -> bool:
    try:
        with folder.open_folder(segments[:-1]) as above:
            os.stat(segments[-1], dir_fd=above, follow_symlinks=False)
    except RequestRefused as refused:
        if refused.status is not HTTPStatus.NOT_FOUND:
            raise
        raise RequestRefused(HTTPStatus.CONFLICT, "the folder above it does not exist") from refused
    except FileNotFoundError:
        return False
    except OSError as error:
        raise make_refusal(error) from error
    return True
