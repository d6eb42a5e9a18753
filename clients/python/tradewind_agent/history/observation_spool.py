"""Results of codecs on files, stored on disk until the service has them: one file a copy, written atomically.

Each observation has an id, and so one that is sent twice is stored once.
"""

import contextlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from tradewind.units import MIB, format_count
from tradewind_agent.errors import BodyTooLarge, ConflictRefused, RequestRefused, ServiceProblem, SpoolFailed
from tradewind_agent.folders import make_private, replace_durably
from tradewind_agent.system_errors import explain_os_error

if TYPE_CHECKING:
    from tradewind.wire.compression import WireObservation
    from tradewind_agent.service.client import Client

FOLDER = "observations"
ENDING = ".json"

MOST_BYTES = 4 * MIB
"""Some 10,000 observations; beyond it the oldest are given up, which history does well without."""

_PLACE = re.compile(r"observations\.(\d+)\b")


class ObservationSpool:
    """Observations that wait, in a folder within that of the logs."""

    def __init__(self, logs: Path) -> None:
        self.folder = logs / FOLDER

    def store(self, transfer_id: UUID, observations: "Sequence[WireObservation]") -> None:
        """Store the observations of one copy; they are on disk when this returns.

        Raises
        ------
        SpoolFailed
        """
        if not observations:
            return
        from tradewind.wire.compression import MAX_OBSERVATIONS, NewObservations  # noqa: PLC0415 -- packed copies only

        stored = NewObservations(observations=tuple(observations[:MAX_OBSERVATIONS]))
        try:
            make_private(self.folder)
            replace_durably(self.folder / f"{transfer_id}{ENDING}", stored.model_dump_json().encode())
            self._bound()
        except OSError as failure:
            raise SpoolFailed(f"observations cannot be kept in {self.folder}: {explain_os_error(failure)}") from None

    def list_waiting(self) -> tuple[Path, ...]:
        """Return the waiting files, the oldest first."""
        return tuple(path for path, _ in self._list_files())

    def _list_files(self) -> list[tuple[Path, int]]:
        """List the files with their sizes in bytes, the oldest first, without those that another program has sent."""
        found = []
        for path in self.folder.glob(f"*{ENDING}"):
            with contextlib.suppress(FileNotFoundError):
                facts = path.stat()
                found.append((facts.st_mtime_ns, path, facts.st_size))
        return [(path, size_bytes) for _, path, size_bytes in sorted(found)]

    def drain(
        self,
        client: "Client",
        *,
        keep_going: Callable[[], bool] = lambda: True,
        on_given_up: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Send what waits until ``keep_going`` says no; ``on_given_up`` is called with what was dropped, and why.

        That is what is damaged, and what the service refuses for good: of a copy those that it names, or all.

        Raises
        ------
        ServiceUnreachable, ServiceProblem : what was not taken stays.
        SpoolFailed
        """
        for path in self.list_waiting():
            if not keep_going():
                return
            try:
                self._deliver(path, client, on_given_up)
            except OSError as failure:
                raise SpoolFailed(f"{path} cannot be read: {explain_os_error(failure)}") from None

    def _deliver(self, path: Path, client: "Client", on_given_up: Callable[[str], None]) -> None:
        from pydantic import ValidationError  # noqa: PLC0415

        from tradewind.wire.compression import NewObservations  # noqa: PLC0415

        with contextlib.suppress(FileNotFoundError):  # another program may have sent it meanwhile
            try:
                left = NewObservations.model_validate_json(path.read_bytes()).observations
            except ValidationError:
                on_given_up(f"{path.name} was damaged on disk")
                left = ()
            while left:
                try:
                    client.compression.add_observations(NewObservations(observations=left))
                    break
                except (BodyTooLarge, ConflictRefused, RequestRefused) as refusal:
                    good = _drop_named(left, refusal)
                    refused = format_count(len(left) - len(good), "observation")
                    on_given_up(f"the service refused {refused} of codecs: {refusal.reason or refusal.detail}")
                    left = good
        path.unlink(missing_ok=True)

    def _bound(self) -> None:
        listed = self._list_files()
        surplus_bytes = sum(size_bytes for _, size_bytes in listed) - MOST_BYTES
        for path, size_bytes in listed[:-1]:
            if surplus_bytes <= 0:
                return
            surplus_bytes -= size_bytes
            path.unlink(missing_ok=True)


def _drop_named(observations: "tuple[WireObservation, ...]", refusal: ServiceProblem) -> "tuple[WireObservation, ...]":
    """Return the observations that the service has not refused; none if it does not name the refused ones."""
    named = {int(place.group(1)) for field, _ in refusal.wrong_fields if (place := _PLACE.match(field))}
    good = tuple(each for number, each in enumerate(observations) if number not in named)
    return good if len(good) < len(observations) else ()
