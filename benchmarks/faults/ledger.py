"""What is in the database at the end, beside what was told to the service."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import psycopg

from benchmarks.faults.agents import Agent
from benchmarks.faults.rows import ids


@dataclass
class Ledger:
    """Rows and heartbeats: so many were acknowledged, lost, stored twice; ``wrong`` tells of each in words.

    ``quarantined_rows`` : refused with a reason and kept, as those that a wrong clock put into the future.
    ``miscounted_rows`` : by how many the sums of links or of receipts differ from the rows that are there; by its key
    no row can be there twice, but a batch that was stored again could be counted again.
    """

    acked_rows: int = 0
    quarantined_rows: int = 0
    lost_rows: int = 0
    duplicate_rows: int = 0
    miscounted_rows: int = 0
    heartbeats: int = 0
    lost_heartbeats: int = 0
    duplicate_heartbeats: int = 0
    wrong: list[str] = field(default_factory=list)

    def compare_rows(self, admin: psycopg.Connection, wanted: Iterable[UUID], whose: str) -> None:
        wanted = list(wanted)
        kept = {row for (row,) in admin.execute(_QUARANTINED, [list(map(str, wanted))])}
        self.quarantined_rows += len(kept)
        wanted = [each for each in wanted if str(each) not in kept]
        found: dict[UUID, int] = dict(admin.execute(_ROWS, [wanted]).fetchall())
        lost = [each for each in wanted if each not in found]
        twice = [each for each, times in found.items() if times > 1]
        self.acked_rows += len(wanted)
        self.lost_rows += len(lost)
        self.duplicate_rows += len(twice)
        self._tell(whose, "rows lost", lost)
        self._tell(whose, "rows stored twice", twice)

    def compare_heartbeats(self, admin: psycopg.Connection, transfer_id: UUID, wanted: range) -> None:
        """All sequence numbers of a transfer, each once; of one that was cut short there may be more."""
        found = Counter(sequence for (sequence,) in admin.execute(_HEARTBEATS, [transfer_id]))
        lost = [each for each in wanted if each not in found]
        twice = [each for each, times in found.items() if times > 1]
        self.heartbeats += len(wanted)
        self.lost_heartbeats += len(lost)
        self.duplicate_heartbeats += len(twice)
        self._tell(f"transfer {transfer_id}", "heartbeats lost", lost)
        self._tell(f"transfer {transfer_id}", "heartbeats stored twice", twice)

    def compare_counts(self, admin: psycopg.Connection) -> None:
        """The rows that are there, and those that links and receipts of batches have counted."""
        ((there, by_links, by_receipts),) = admin.execute(_COUNTED).fetchall()
        self.miscounted_rows += abs(by_links - there) + abs(by_receipts - there)
        if self.miscounted_rows:
            self.wrong.append(f"{there} rows, by their links {by_links}, by the receipts of batches {by_receipts}")

    def _tell(self, whose: str, what: str, found: Sequence[object]) -> None:
        if found:
            self.wrong.append(f"{whose}: {len(found)} {what}, {', '.join(map(str, found[:3]))}")


def ledger_of(admin: psycopg.Connection, agents: Sequence[Agent]) -> Ledger:
    """All that the agents have had acknowledged."""
    told = Ledger()
    for agent in agents:
        for number in range(agent.batches):
            told.compare_rows(admin, ids(agent.number, number), f"batch {number} of agent {agent.number}")
        told.compare_rows(admin, _copied_rows(agent), f"copies of agent {agent.number}")
        for copied in agent.copies:
            if copied.document.get("timeline"):
                beats = range(len(copied.document["timeline"]))
                told.compare_heartbeats(admin, UUID(copied.document["transfer_id"]), beats)
        for transfer_id, last in agent.cut_short.items():
            told.compare_heartbeats(admin, transfer_id, range(last + 1))
    told.compare_counts(admin)
    return told


def _copied_rows(agent: Agent) -> Iterator[UUID]:
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
