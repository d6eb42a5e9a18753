"""Do a repeated request once: the second one gets the answer of the first.

A request carries a token of its own (a hidden field of a form, the header Idempotency-Key). The first to claim the
token works the request out; others wait for the answer. It is stored for a day, sealed with a key that is derived from
the sender's own secret, because an answer may hold the secret of a new key. A refused request may be sent again.
"""

import asyncio
import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

from fastapi import Response
from fastapi.concurrency import run_in_threadpool
from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from services.application.shared.submissions import Submission, SubmissionKey
from services.bootstrap import Container
from tradewind.errors import Conflict
from tradewind.units import KIB

LONGEST_TOKEN = 200
TIMEOUT_S, POLL_INTERVAL_S = 10.0, 0.05
"""How long a second one waits for the answer of the first, and how often it looks."""

LONGEST_ANSWER_BYTES = 64 * KIB
"""Limit of an answer that is stored; the page with a new key's secret has a tenth of it."""

LOST_AFTER = timedelta(minutes=1)
"""The process of a request without an answer for so long is gone; it may have finished the work."""

FIRST_REFUSED = 400
_SEALED = {"alg": "dir", "enc": "A256GCM"}


def derive_submission_key(secret: str, path: str, token: str, content: bytes) -> SubmissionKey:
    """Return the key of a request: by its sender's secret, its address, its token and its content."""
    name = f"{path}\0{token}".encode(errors="replace")
    digest, seal = (hmac.digest(secret.encode(), use + name, "sha256") for use in (b"claim\0", b"seal\0"))
    return SubmissionKey(digest, hashlib.sha256(content).digest(), seal)


async def answer_once(
    parts: Container, tenant_id: UUID, key: SubmissionKey, answer: Callable[[], Awaitable[Response]]
) -> Response:
    """Answer a request with ``answer``, or with its earlier answer.

    Raises
    ------
    Conflict : the token was used for other content, or the first request has no answer yet.
    """
    if (earlier := await claim(parts, tenant_id, key)) is not None:
        return earlier
    try:
        response = await answer()
    except Exception:
        await release_claim(parts, tenant_id, key)
        raise
    await store_response(parts, tenant_id, key, response)
    return response


async def claim(parts: Container, tenant_id: UUID, key: SubmissionKey) -> Response | None:
    """Claim a request; return ``None`` if the caller has to work it out, else its earlier answer."""
    earlier = await run_in_threadpool(_claim, parts, tenant_id, key)
    if earlier is None:
        return None
    if (answer := _read_answer(earlier, key)) is not None:
        return answer
    until = asyncio.get_running_loop().time() + TIMEOUT_S
    async with parts.repeated_slots.hold(tenant_id):  # each look takes a thread and a transaction
        while (earlier := await run_in_threadpool(_claim, parts, tenant_id, key)) is not None:
            if (answer := _read_answer(earlier, key)) is not None:
                return answer
            if parts.clock.now() - earlier.at > LOST_AFTER or asyncio.get_running_loop().time() > until:
                raise Conflict("the same was sent before, and its answer is not known; look whether it was done")
            await asyncio.sleep(POLL_INTERVAL_S)
    return None


def _read_answer(earlier: Submission, key: SubmissionKey) -> Response | None:
    """Return the answer of an earlier request; ``None`` while it is not known.

    Raises
    ------
    Conflict : the earlier request had other content.
    """
    if earlier.content_sha256 != key.content_sha256:
        raise Conflict("this Idempotency-Key was used for other content; use a new key for a new request")
    return None if earlier.answer is None else _open_answer(earlier.answer, key)


async def store_response(parts: Container, tenant_id: UUID, key: SubmissionKey, response: Response) -> None:
    """Store the answer of a request that was done; release the claim where it was refused.

    A long answer is not stored: the claim stays, so that nothing is done twice.
    """
    body = getattr(response, "body", None)  # files and streams have none
    if response.status_code >= FIRST_REFUSED or body is None:
        await release_claim(parts, tenant_id, key)
        return
    if len(body) > LONGEST_ANSWER_BYTES:
        return
    await run_in_threadpool(_store_response, parts, tenant_id, key, _seal_response(response, key))


async def release_claim(parts: Container, tenant_id: UUID, key: SubmissionKey) -> None:
    """Let a request be worked out again."""
    await run_in_threadpool(_release_claim, parts, tenant_id, key)


def _claim(parts: Container, tenant_id: UUID, key: SubmissionKey) -> Submission | None:
    with parts.store.unit_of_work(tenant_id) as uow:
        earlier = uow.submissions.claim(key.digest, key.content_sha256, parts.clock.now())
        uow.commit()
    return earlier


def _store_response(parts: Container, tenant_id: UUID, key: SubmissionKey, answer: str) -> None:
    with parts.store.unit_of_work(tenant_id) as uow:
        uow.submissions.store_response(key.digest, answer)
        uow.commit()


def _release_claim(parts: Container, tenant_id: UUID, key: SubmissionKey) -> None:
    with parts.store.unit_of_work(tenant_id) as uow:
        uow.submissions.release_claim(key.digest)
        uow.commit()


def _seal_response(response: Response, key: SubmissionKey) -> str:
    headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in response.raw_headers]
    content = {"status": response.status_code, "headers": headers, "body": bytes(response.body).decode("latin-1")}
    return jwe.encrypt_compact(_SEALED, json.dumps(content).encode(), OctKey.import_key(key.seal))


def _open_answer(answer: str, key: SubmissionKey) -> Response:
    try:
        content = json.loads(jwe.decrypt_compact(answer, OctKey.import_key(key.seal)).plaintext or b"")
    except JoseError:
        raise Conflict("the same was sent before; look whether it was done") from None
    response = Response(content["body"].encode("latin-1"), content["status"])
    response.raw_headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in content["headers"]]
    return response
