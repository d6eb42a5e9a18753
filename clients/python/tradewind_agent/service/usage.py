"""SDK: what customers used in a month, and what they pay. The key needs the scope provider."""

from collections.abc import Iterator

from pydantic import TypeAdapter

from tradewind.wire.billing import IssuedMonth, StatementsToIssue, UsageStatement
from tradewind_agent.service.calls import Calls

PATH = "/v1/usage-statements"
ISSUE_PATH = "/v1/issued-statements/months"

PIECE_TIMEOUT_S = 120.0
"""The first piece waits until all transfers of the month are joined with their quotes."""

ISSUE_TIMEOUT_S = 600.0
"""All statements are issued one after the other: 100,000 transfers take about 12 s."""


class Usage:
    """Usage statements of the key's tenant.

    Parameters
    ----------
    month : of every method, ``2026-11``, in UTC.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def statements(self, month: str) -> tuple[UsageStatement, ...]:
        """Return a statement for each customer key, with exact and payable amounts."""
        return self._calls.call("GET", PATH, TypeAdapter(tuple[UsageStatement, ...]), params={"month": month})

    def transfers_csv(self, month: str) -> Iterator[bytes]:
        """Yield the transfers behind the statements as CSV with a header line, piece by piece."""
        parameters = {"month": month, "format": "csv"}
        with self._calls.stream("GET", PATH, params=parameters, timeout_s=PIECE_TIMEOUT_S) as response:
            yield from response.iter_bytes()

    def issue_statements(self, month: str, *, dry_run: bool = False) -> IssuedMonth:
        """Issue the statements of all customers for a month that is over, and return what became of each.

        A statement is issued once: the same call again issues what is left.

        Parameters
        ----------
        dry_run : return what would be issued, and issue nothing.

        Raises
        ------
        ConflictRefused : the month is not over, or nothing is billed for it.
        """
        body = StatementsToIssue(month=month, dry_run=dry_run)
        return self._calls.call("POST", ISSUE_PATH, TypeAdapter(IssuedMonth), body=body, timeout_s=ISSUE_TIMEOUT_S)
