"""Fewer files at once for what a tool could not move: what it moves by itself it moves when it is wrapped.

A server that refuses connections beyond some number makes a tool fail at settings that the tool by itself does not
have. What is missing is then moved again with half as many files at once, and at last with the user's own command line,
whose exit code is the one that counts.
"""

from tradewind.parameters import Parameters
from tradewind.units import format_count

UNRECOVERABLE_STATUSES = frozenset({400, 401, 404, 405, 406, 410, 411, 413, 414, 415, 416, 451})
"""HTTP statuses that fewer files at once do not change."""

_FIRST_SIGNAL_CODE = 129


def is_own_failure(code: int) -> bool:
    """Return whether a tool has ended with a failure of its own, and not by a signal."""
    return 0 < code < _FIRST_SIGNAL_CODE


class StepDown:
    """The settings that are left to a tool after its failures.

    Parameters
    ----------
    fixed : parameters that the user's own flags set; where files at once are among them, nothing is stepped down.
    default_concurrency : files at once of the tool by itself.

    Attributes
    ----------
    is_plain : the tool is to be run as the user wrote it.
    """

    def __init__(self, fixed: Parameters, default_concurrency: int) -> None:
        self.is_plain = False
        self._is_possible = "concurrency" not in fixed.list_known() or "parallelism" not in fixed.list_known()
        self._default = default_concurrency
        self._most: int | None = None
        self._failed_with: int | None = None

    def lower(self, running: Parameters) -> bool:
        """Permit less than ``running``, which has failed; false where nothing less is left."""
        if self.is_plain or not self._is_possible:
            return False
        self._failed_with = self._failed_with or running.concurrency or 1
        half = (running.concurrency or 1) // 2
        if half <= self._default:
            self.is_plain = True
        else:
            self._most = half
        return True

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what the user should know of the failures."""
        if self._failed_with is None:
            return ()
        fewer = "as you wrote it" if self.is_plain else f"with {self._most} at once"
        files = format_count(self._failed_with, "file")
        return (f"it failed with {files} at once; what was missing was tried again, at last {fewer}",)

    def cut_parameters(self, parameters: Parameters) -> Parameters:
        """Return ``parameters`` cut to what is left."""
        if self._most is None or (parameters.concurrency or 1) <= self._most:
            return parameters
        return Parameters(
            concurrency=self._most,
            parallelism=1 if parameters.parallelism is not None else None,
            pipelining=parameters.pipelining,
            io_block_bytes=parameters.io_block_bytes,
            part_bytes=parameters.part_bytes,
        )
