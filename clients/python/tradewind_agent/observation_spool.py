"""What codecs made of files, kept on disk until the service has it: a file a copy, there whole or not at all.

Each observation has an id, and so one that is sent twice is stored once.
"""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from tradewind.units import MIB
from tradewind_agent.errors import BodyTooLarge, Contradiction, RequestRefused, SpoolFailed
from tradewind_agent.folders import make_private, replace_durably
from tradewind_agent.system_errors import in_words

if TYPE_CHECKING:
    from tradewind.wire.compression import WireObservation
    from tradewind_agent.client import Client

FOLDER = "observations"
ENDING = ".json"

MOST_BYTES = 4 * MIB
"""Some 10,000 observations; beyond it the oldest are given up, which history does well without."""


class ObservationSpool:
    """Observations that wait, in a folder within that of the logs."""

    def __init__(self, logs: Path) -> None:
        self.folder = logs / FOLDER

    def keep(self, transfer_id: UUID, observations: "Sequence[WireObservation]") -> None:
        """Keep what one copy has seen; on disk when this returns.

        Raises
        ------
        SpoolFailed
        """
        if not observations:
            return
        from tradewind.wire.compression import MOST_OBSERVATIONS, NewObservations  # noqa: PLC0415 -- packed copies only

        told = NewObservations(observations=tuple(observations[:MOST_OBSERVATIONS]))
        try:
            make_private(self.folder)
            replace_durably(self.folder / f"{transfer_id}{ENDING}", told.model_dump_json().encode())
            self._bound()
        except OSError as failure:
            raise SpoolFailed(f"observations cannot be kept in {self.folder}: {in_words(failure)}") from None

    def waiting(self) -> tuple[Path, ...]:
        """The oldest first."""
        found = []
        for path in self.folder.glob(f"*{ENDING}"):
            with contextlib.suppress(FileNotFoundError):
                found.append((path.stat().st_mtime_ns, path))
        return tuple(path for _, path in sorted(found))

    def drain(self, client: "Client", *, keep_going: Callable[[], bool] = lambda: True) -> None:
        """Send what waits until ``keep_going`` says no; what is damaged or refused for good is dropped.

        Raises
        ------
        ServiceAway, ServiceProblem : what was not taken stays.
        SpoolFailed
        """
        for path in self.waiting():
            if not keep_going():
                return
            try:
                self._deliver(path, client)
            except OSError as failure:
                raise SpoolFailed(f"{path} cannot be read: {in_words(failure)}") from None

    def _deliver(self, path: Path, client: "Client") -> None:
        from pydantic import ValidationError  # noqa: PLC0415

        from tradewind.wire.compression import NewObservations  # noqa: PLC0415

        # Another program may have sent it meanwhile, a damaged one is of no use, and a refused one stays refused.
        with contextlib.suppress(FileNotFoundError, ValidationError, BodyTooLarge, Contradiction, RequestRefused):
            client.compression.add_observations(NewObservations.model_validate_json(path.read_bytes()))
        path.unlink(missing_ok=True)

    def _bound(self) -> None:
        waiting = self.waiting()
        surplus = sum(path.stat().st_size for path in waiting) - MOST_BYTES
        for path in waiting[:-1]:
            if surplus <= 0:
                return
            surplus -= path.stat().st_size
            path.unlink(missing_ok=True)
