"""Compare what is in the database at the end with what the service acknowledged."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import psycopg

from benchmarks.faults.agents import CopyingAgent
from benchmarks.faults.rows import list_ids


@dataclass
class Ledger:
    """Numbers of acknowledged, lost and duplicate rows and heartbeats; ``problems`` describes each problem.

    ``quarantined_rows`` : refused with a reason and stored, such as rows that a wrong clock put into the future.
    ``miscounted_rows`` : difference between the sums of links or of receipts and the rows that are there. Its key
    prevents a row from being there twice, but a batch that was stored again could be counted again.
    """

    acked_rows: int = 0
    quarantined_rows: int = 0
    lost_rows: int = 0
    duplicate_rows: int = 0
    miscounted_rows: int = 0
    heartbeats: int = 0
    lost_heartbeats: int = 0
    duplicate_heartbeats: int = 0
    problems: list[str] = field(default_factory=list)

    def compare_rows(self, admin: psycopg.Connection, expected: Iterable[UUID], owner: str) -> None:
        expected = list(expected)
        quarantined = {row for (row,) in admin.execute(_QUARANTINED, [list(map(str, expected))])}
        self.quarantined_rows += len(quarantined)
        expected = [each for each in expected if str(each) not in quarantined]
        found: dict[UUID, int] = dict(admin.execute(_ROWS, [expected]).fetchall())
        lost = [each for each in expected if each not in found]
        duplicates = [each for each, times in found.items() if times > 1]
        self.acked_rows += len(expected)
        self.lost_rows += len(lost)
        self.duplicate_rows += len(duplicates)
        self._note(owner, "rows lost", lost)
        self._note(owner, "rows stored twice", duplicates)

    def compare_heartbeats(self, admin: psycopg.Connection, transfer_id: UUID, expected: range) -> None:
        """Compare the sequence numbers of a transfer, each expected once; one that was cut short may have more."""
        found = Counter(sequence for (sequence,) in admin.execute(_HEARTBEATS, [transfer_id]))
        lost = [each for each in expected if each not in found]
        duplicates = [each for each, times in found.items() if times > 1]
        self.heartbeats += len(expected)
        self.lost_heartbeats += len(lost)
        self.duplicate_heartbeats += len(duplicates)
        self._note(f"transfer {transfer_id}", "heartbeats lost", lost)
        self._note(f"transfer {transfer_id}", "heartbeats stored twice", duplicates)

    def compare_counts(self, admin: psycopg.Connection) -> None:
        """Compare the rows that are there with those that links and receipts of batches have counted."""
        ((stored, by_links, by_receipts),) = admin.execute(_COUNTED).fetchall()
        self.miscounted_rows += abs(by_links - stored) + abs(by_receipts - stored)
        if self.miscounted_rows:
            self.problems.append(f"{stored} rows, by their links {by_links}, by the receipts of batches {by_receipts}")

    def _note(self, owner: str, text: str, found: Sequence[object]) -> None:
        if found:
            self.problems.append(f"{owner}: {len(found)} {text}, {', '.join(map(str, found[:3]))}")


def compare_with_database(admin: psycopg.Connection, agents: Sequence[CopyingAgent]) -> Ledger:
    """Compare everything that the agents have had acknowledged."""
    ledger = Ledger()
    for agent in agents:
        for number in range(agent.batches):
            ledger.compare_rows(admin, list_ids(agent.number, number), f"batch {number} of agent {agent.number}")
        ledger.compare_rows(admin, _list_copied_rows(agent), f"copies of agent {agent.number}")
        for copied in agent.copies:
            if copied.document.get("timeline"):
                beats = range(len(copied.document["timeline"]))
                ledger.compare_heartbeats(admin, UUID(copied.document["transfer_id"]), beats)
        for transfer_id, last in agent.cut_short.items():
            ledger.compare_heartbeats(admin, transfer_id, range(last + 1))
    ledger.compare_counts(admin)
    return ledger


def _list_copied_rows(agent: CopyingAgent) -> Iterator[UUID]:
    for copied in agent.copies:
        for record in copied.document.get("records", ()):
            yield UUID(record["id"])


_ROWS = "SELECT id, count(*) FROM transfer_logs WHERE id = ANY(%s) GROUP BY id"
_COUNTED = """
    SELECT (SELECT count(*) FROM transfer_logs),
           (SELECT coalesce(sum(rows), 0)::bigint FROM links),
           (SELECT coalesce(sum(accepted), 0)::bigint FROM batches)
"""
_QUARANTINED = "SELECT DISTINCT raw::json->>'id' FROM log_quarantine WHERE raw::json->>'id' = ANY(%s)"
_HEARTBEATS = "SELECT sequence FROM transfer_samples WHERE transfer_id = %s"
