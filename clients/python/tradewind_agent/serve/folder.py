"""The served folder: request targets become open files, and none of them lies outside it.

A target is walked component by component with ``openat`` and ``O_NOFOLLOW``. Where a symbolic link is met, its real
path is taken, must lie in the folder, and is walked in the same way; so a link that is swapped between check and use
fails instead of escaping.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

from tradewind_agent.serve.messages import RequestRefused

PART_PREFIX = ".tradewind-part-"
MAX_DEPTH = 200
"""Folders of a path that an upload makes. A path may name two thousand, and each is forced to the disk."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO must not hang the server.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

_REFUSALS = {
    errno.ENOENT: (HTTPStatus.NOT_FOUND, "no such file or folder"),
    errno.ENOTDIR: (HTTPStatus.NOT_FOUND, "no such file or folder"),
    errno.ELOOP: (HTTPStatus.FORBIDDEN, "symbolic links lead nowhere"),
    errno.ENAMETOOLONG: (HTTPStatus.REQUEST_URI_TOO_LONG, "a name in the path is too long for the file system"),
    errno.EACCES: (HTTPStatus.FORBIDDEN, "the server may not open it"),
    errno.EPERM: (HTTPStatus.FORBIDDEN, "the server may not open it"),
    errno.EROFS: (HTTPStatus.FORBIDDEN, "the file system is read-only"),
    errno.EISDIR: (HTTPStatus.CONFLICT, "a folder stands where the file should go"),
    errno.ENOTEMPTY: (HTTPStatus.CONFLICT, "a folder stands where the file should go"),
    errno.ENOSPC: (HTTPStatus.INSUFFICIENT_STORAGE, "the file system is full"),
    errno.EDQUOT: (HTTPStatus.INSUFFICIENT_STORAGE, "the disk quota is used up"),
    errno.EFBIG: (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the file system takes no file of this size"),
    errno.ENXIO: (HTTPStatus.FORBIDDEN, "not a regular file"),
    errno.EMFILE: (HTTPStatus.SERVICE_UNAVAILABLE, "too many open files; try again"),
    errno.ENFILE: (HTTPStatus.SERVICE_UNAVAILABLE, "too many open files; try again"),
}


def make_refusal(error: OSError) -> RequestRefused:
    """Return the answer to a file operation that failed."""
    if error.errno in _REFUSALS:
        return RequestRefused(*_REFUSALS[error.errno])
    return RequestRefused(HTTPStatus.INTERNAL_SERVER_ERROR, f"the file cannot be used: {error.strerror}")


def parse_segments(target: str) -> tuple[str, ...]:
    """Return the names along the path of a request target; empty ones and ``.`` are dropped.

    Raises
    ------
    RequestRefused : 400 for no path, 403 for ``..``, an encoded slash, a NUL or a part file.
    """
    path = target.partition("?")[0].partition("#")[0]
    if path.lower().startswith(("http://", "https://")):
        path = "/" + path.split("://", 1)[1].partition("/")[2]
    if not path.startswith("/"):
        raise RequestRefused(HTTPStatus.BAD_REQUEST, "the request target must be a path that starts with /")
    names = [os.fsdecode(unquote_to_bytes(raw.encode("latin-1"))) for raw in path.split("/")]
    for name in names:
        if name == ".." or "/" in name or "\0" in name:
            raise RequestRefused(HTTPStatus.FORBIDDEN, "the path leaves the served folder")
        if name.startswith(PART_PREFIX):
            raise RequestRefused(HTTPStatus.FORBIDDEN, "files of unfinished uploads cannot be addressed")
    return tuple(name for name in names if name not in ("", "."))


def format_path(segments: Sequence[str]) -> str:
    """Return the percent-encoded path of names, the inverse of ``parse_segments``."""
    return "/" + "/".join(quote_from_bytes(os.fsencode(name), safe="") for name in segments)


class ServedFolder:
    """Opens what lies in ``root`` and nothing else; ``hidden`` : names that begin with a dot, too."""

    def __init__(self, root: Path, *, hidden: bool) -> None:
        self.root, self._hidden = root.resolve(strict=True), hidden
        self._descriptor = os.open(self.root, _FOLDER)

    def close(self) -> None:
        os.close(self._descriptor)

    def is_served(self, name: str) -> bool:
        """Return whether a name can be addressed."""
        return not name.startswith(PART_PREFIX) and (self._hidden or not name.startswith("."))

    def require_served(self, segments: Sequence[str], *, is_read: bool) -> None:
        """See that a path has no name which is not served.

        Raises
        ------
        RequestRefused : 404 where it is read, else 403.
        """
        if not all(map(self.is_served, segments)):
            status = HTTPStatus.NOT_FOUND if is_read else HTTPStatus.FORBIDDEN
            raise RequestRefused(status, "names that begin with a dot are served with --hidden alone")

    def open_path(self, segments: Sequence[str]) -> int:
        """Return the descriptor of the file or folder at ``segments``; the caller closes it.

        Raises
        ------
        RequestRefused : 404, 403 for what leaves the folder, 414, 503.
        """
        try:
            return self._walk(segments, _FILE)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise make_refusal(error) from error
        try:
            return self._walk(self._resolve(segments), _FILE)
        except OSError as error:
            raise make_refusal(error) from error

    @contextmanager
    def open_folder(self, segments: Sequence[str]) -> Iterator[int]:
        """Open the folder at ``segments`` for the block, and yield its descriptor.

        Raises
        ------
        RequestRefused : 404, 403, and 409 where a file stands in the way.
        """
        descriptor = self._open_folders(segments, None)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def make_folders(self, segments: Sequence[str], make_room: Callable[[], None]) -> None:
        """Make the missing folders of a path, and force each to the disk. ``make_room`` : called before each.

        Raises
        ------
        RequestRefused : that of ``make_room``, 403, 409 where a file stands in the way, 414.
        """
        if len(segments) > MAX_DEPTH:
            raise RequestRefused(
                HTTPStatus.REQUEST_URI_TOO_LONG, f"a path may make {MAX_DEPTH} folders, one in another"
            )
        os.close(self._open_folders(segments, make_room))

    def _open_folders(self, segments: Sequence[str], make_room: Callable[[], None] | None) -> int:
        try:
            return self._walk_folders(self._resolve(segments), make_room)
        except NotADirectoryError as error:
            raise RequestRefused(HTTPStatus.CONFLICT, "a file stands where the path needs a folder") from error
        except OSError as error:
            raise make_refusal(error) from error

    def contains(self, path: Path) -> bool:
        """Return whether the real path of ``path`` exists and lies in the folder."""
        try:
            return path.resolve(strict=True).is_relative_to(self.root)
        except (OSError, RuntimeError):
            return False

    def _resolve(self, segments: Sequence[str]) -> tuple[str, ...]:
        real = Path(os.path.realpath(self.root.joinpath(*segments)))
        if not real.is_relative_to(self.root):
            raise RequestRefused(HTTPStatus.FORBIDDEN, "a symbolic link leads out of the served folder")
        return real.relative_to(self.root).parts

    def _open_root(self) -> int:
        return os.open(".", _FOLDER, dir_fd=self._descriptor)  # not dup: listings must not share an offset

    def _walk(self, segments: Sequence[str], flags: int) -> int:
        if not segments:
            return self._open_root()
        if len(segments) == 1:
            return os.open(segments[0], flags, dir_fd=self._descriptor)
        folder = self._walk_folders(segments[:-1], None)
        try:
            return os.open(segments[-1], flags, dir_fd=folder)
        finally:
            os.close(folder)

    def _walk_folders(self, segments: Sequence[str], make_room: Callable[[], None] | None) -> int:
        current = self._open_root()
        for name in segments:
            try:
                deeper = _open_folder(name, current, make_room)
            finally:
                os.close(current)
            current = deeper
        return current


def _open_folder(name: str, parent: int, make_room: Callable[[], None] | None) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        if make_room is None:
            raise
    make_room()
    with suppress(FileExistsError):  # a rival made it; opening it decides whether it is a folder
        os.mkdir(name, dir_fd=parent)
        os.fsync(parent)  # a file is acknowledged only when the way to it is on disk too
    return os.open(name, _FOLDER, dir_fd=parent)


def is_folder(status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode)


def is_file(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode)
