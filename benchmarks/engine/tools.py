"""Our engine and the tools that it is compared with, each at its defaults, for downloads and for uploads."""

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.testbed.peers import DEFAULTS, PEERS, Job, Peer
from benchmarks.testbed.uploads.tools import UPLOADING_PEERS

OURS, CURL, RCLONE = "tradewind", "curl -Z", "rclone"
TRADEWIND_COMMAND = (sys.executable, "-P", "-m", "tradewind_agent", "copy")


@dataclass(frozen=True, slots=True)
class Tool:
    """A program and its command line for a job; ``package`` is Debian's."""

    name: str
    program: str
    package: str
    command: Callable[[Job], Sequence[str]]

    @property
    def is_installed(self) -> bool:
        return shutil.which(self.program) is not None


def _build_download_command(job: Job) -> list[str]:
    """Return the command as a user types it: the engine lists the folder itself, as rclone does."""
    return [*TRADEWIND_COMMAND, job.url, f"{job.folder}/", "--json"]


def _build_wget2_command(job: Job) -> list[str]:
    urls = job.write_list(job.url + name for name in job.names)
    return ["wget2", "--no-config", "--quiet", f"--directory-prefix={job.folder}", f"--input-file={urls}"]


def _build_upload_command(job: Job) -> list[str]:
    return [*TRADEWIND_COMMAND, f"{job.folder}/", job.url, "--json"]


def _adapt(peer: Peer) -> Tool:
    return Tool(peer.name, peer.program, peer.package, lambda job: peer.command(job, DEFAULTS))


DOWNLOADERS = (
    Tool(OURS, sys.executable, "", _build_download_command),
    *(_adapt(peer) for peer in PEERS if peer.name in (CURL, RCLONE, "aria2")),
    Tool("wget2", "wget2", "wget2", _build_wget2_command),
)

UPLOADERS = (
    Tool(OURS, sys.executable, "", _build_upload_command),
    *(_adapt(peer) for peer in UPLOADING_PEERS if peer.name == CURL),
)
