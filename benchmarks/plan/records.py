"""Records of what was measured: one JSON document a benchmark and form, in the repository."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.plan.catalogue import Planned
from benchmarks.support.report import ROOT
from benchmarks.support.sources import digest_parts
from tradewind.errors import InvalidValue

FOLDER = ROOT / "benchmarks" / "records" / "plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One measurement, or several repeats of a quick form.

    Attributes
    ----------
    seconds : what one run took.
    others_share, stolen_share : of all processors, what other programs took meanwhile, and the host of this virtual
        machine; the greatest of the repeats.
    sources : digests of what the benchmark measures, by path.
    summaries : the figures of each repeat.
    """

    name: str
    commit: str
    started_at: str
    seconds: float
    machine: Mapping[str, Any]
    others_share: float
    stolen_share: float
    sources: Mapping[str, str]
    summaries: Sequence[Mapping[str, Any]]

    @property
    def day(self) -> str:
        return datetime.fromisoformat(self.started_at).date().isoformat()


class RecordStore:
    """The records of full or of quick forms."""

    def __init__(self, *, quick: bool, folder: Path = FOLDER) -> None:
        self._folder, self._suffix = folder, "-quick" if quick else ""

    def find(self, name: str) -> Record | None:
        """Return the record of a benchmark; ``None`` where it was never measured.

        Raises
        ------
        InvalidValue : a record that cannot be read.
        """
        path = self._path(name)
        try:
            return Record(**json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise InvalidValue(str(path.relative_to(self._folder)), f"is no record of a benchmark: {error}") from error

    def store(self, record: Record) -> None:
        """Store a record in place of the last one."""
        self._folder.mkdir(parents=True, exist_ok=True)
        partial = self._path(record.name).with_suffix(".partial")
        partial.write_text(json.dumps(asdict(record), indent=2, allow_nan=False) + "\n", encoding="utf-8")
        partial.replace(self._path(record.name))

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{self._suffix}.json"


def digest_sources(planned: Planned) -> dict[str, str]:
    """Return the digest of each path that a benchmark measures; comments and docstrings do not count."""
    return digest_parts({path: (path,) for path in planned.measures})


def list_changed(planned: Planned, record: Record) -> list[str]:
    """Return the paths that have changed since a record was made, in the order of the plan."""
    return [path for path, digest in digest_sources(planned).items() if record.sources.get(path) != digest]
