"""Claims of papers for tests."""

from typing import Any

from benchmarks.papers.catalogue import Claim


def make_claim(values: dict[str, Any], **words: Any) -> Claim:
    return Claim(
        **{"id": "x-1", "paper": "004", "place": "p", "kind": "result", "statement": "", **words, "values": values}
    )
