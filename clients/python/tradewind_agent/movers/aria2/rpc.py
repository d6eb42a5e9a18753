"""aria2's JSON-RPC over HTTP on the loopback (aria2c manual, RPC INTERFACE)."""

import http.client
import json
from collections.abc import Mapping, Sequence
from typing import Any

_PATIENCE_S = 5.0
_PAGE = 100


class Aria2Rpc:
    """Calls to one aria2c; each is a connection of its own, so that any thread may call."""

    def __init__(self, port: int, secret: str) -> None:
        self._port, self._secret = port, secret

    def call(self, method: str, *arguments: object) -> Any:
        """Return the result of ``aria2.method``; ``None`` where aria2c is not there (yet), or refuses."""
        return self._call(f"aria2.{method}", [f"token:{self._secret}", *arguments])

    def call_each(self, method: str, calls: Sequence[Sequence[object]]) -> Sequence[Any]:
        """Return the results of ``aria2.method`` with each of these arguments, many in a round trip.

        ``None`` as of `call`.
        """
        found: list[Any] = []
        for first in range(0, len(calls), _PAGE):
            page = calls[first : first + _PAGE]
            calls_of_page = [
                {"methodName": f"aria2.{method}", "params": [f"token:{self._secret}", *each]} for each in page
            ]
            answers = self._call("system.multicall", [calls_of_page])
            results = answers if isinstance(answers, list) and len(answers) == len(page) else [None] * len(page)
            found += [each[0] if isinstance(each, list) and each else None for each in results]
        return found

    def _call(self, method: str, params: Sequence[object]) -> Any:
        body = {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE_S)
        try:
            connection.request("POST", "/jsonrpc", json.dumps(body), {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()
        return answer.get("result") if isinstance(answer, dict) else None

    def list_active(self) -> Sequence[Mapping[str, Any]]:
        """List the downloads under way."""
        return self.call("tellActive", ["gid", "completedLength", "totalLength", "files"]) or ()

    def list_waiting(self) -> Sequence[Mapping[str, str]]:
        """Return the downloads that have not started."""
        found: list[Mapping[str, str]] = []
        while page := self.call("tellWaiting", len(found), _PAGE, ["gid"]):
            found += page
        return found

    def list_stopped(self, known: Mapping[str, object]) -> Sequence[Mapping[str, Any]]:
        """List the downloads that are over and not ``known`` yet, the newest first."""
        found: list[Mapping[str, Any]] = []
        offset = -1
        while page := self.call("tellStopped", offset, _PAGE, ["gid", "status", "completedLength", "files"]):
            fresh = [row for row in page if row["gid"] not in known]
            found += fresh
            if len(fresh) < len(page) or len(page) < _PAGE:
                break
            offset -= _PAGE
        return found
