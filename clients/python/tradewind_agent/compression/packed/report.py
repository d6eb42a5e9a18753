"""The result of a packed copy: files, bytes before and after packing, and codecs."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from tradewind.compression.codecs import CodecSetting
from tradewind.units import format_bytes, format_count
from tradewind_agent.compression.planning import RAW

if TYPE_CHECKING:
    from tradewind_agent.errors import AgentError


@dataclass(slots=True, kw_only=True)
class PackedReport:
    """What came of a packed copy.

    ``plain_bytes``, ``packed_bytes`` : of the files that are done, and what went over the path for them.
    ``moved_bytes`` : plain bytes that went over the path, of files that were not finished, too, but without what was
    given up of those that have ``restarted_files``, having changed on the way, or come damaged.
    ``used`` : plain bytes by setting; ``None`` of those that were sent as they are.
    ``permitted_files`` : files at once, of a server that has refused more.
    ``stopped`` : what ended all of it early, such as a full disk; ``cancelled`` : the user.
    """

    transfer_id: UUID = field(default_factory=uuid4)
    files_done: int = 0
    files_skipped: int = 0
    plain_bytes: int = 0
    packed_bytes: int = 0
    moved_bytes: int = 0
    duration_s: float = 0.0
    used: dict[CodecSetting | None, int] = field(default_factory=dict)
    failures: list[tuple[str, str]] = field(default_factory=list)
    restarted_files: list[str] = field(default_factory=list)
    permitted_files: int | None = None
    stopped: "AgentError | None" = None
    cancelled: bool = False

    @property
    def succeeded(self) -> bool:
        return not self.failures and not self.cancelled and self.stopped is None

    @property
    def ratio(self) -> float:
        return self.plain_bytes / self.packed_bytes if self.packed_bytes else 1.0

    @property
    def codec(self) -> str | None:
        """Return the codec of most bytes, as records state it; ``None`` where it is unknown."""
        return _format_setting(max(self.used, key=lambda each: self.used[each])) if self.used else None

    def list_notes(self) -> tuple[str, ...]:
        """Return notes for the user in addition to the metrics."""
        permitted_files = (
            () if self.permitted_files is None else (f"the server permits {self.permitted_files} packed at once",)
        )
        if not self.restarted_files:
            return permitted_files
        files, first = format_count(len(self.restarted_files), "file"), self.restarted_files[0]
        return (
            *permitted_files,
            f"{files} changed on the way or came damaged, and were restarted, first {first}: the time counts",
        )

    def format_line(self) -> str:
        """Return the part of the closing line that a plain copy has not."""
        used = ", ".join(_format_setting(each) for each in sorted(self.used, key=lambda each: -self.used[each]))
        return f"{format_bytes(self.packed_bytes)} on the wire ({self.ratio:.2f} to 1, packed with {used or 'nothing'})"

    def build_document(self) -> dict[str, Any]:
        return {
            "packed_bytes": self.packed_bytes,
            "ratio": self.ratio,
            "used": {_format_setting(setting): plain_bytes for setting, plain_bytes in self.used.items()},
        }


def _format_setting(setting: CodecSetting | None) -> str:
    return RAW if setting is None else str(setting)
