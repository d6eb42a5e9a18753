"""Run ``./run serve --sample``: the complete service, on data of its own: the project's recorded transfers.

The data are in ``sample`` below the usual folder, with databases of their own, so that they cannot be mistaken for a
tenant's transfers; removing that folder removes the sample.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from benchmarks.sample.rows import count_shift_days
from benchmarks.support.report import ROOT
from services import serve
from services.embedded.keeper import end_with_parent
from services.settings import Settings
from tradewind.errors import InvalidValue

FOLDER = "sample"
SHIFT = "shift-days"
"""File of the days that times were moved by when the sample was first served."""

PATIENCE_S = 10.0


def main() -> int:
    """Serve; return the exit code of `services.serve`."""
    try:
        settings = Settings.from_environment(os.environ, data_folder=ROOT / "var")
        folder = make_own_folder(settings)
    except InvalidValue as error:
        sys.stderr.write(f"serve: {error}\n")
        return 2
    days = find_or_store_shift(folder)
    os.environ |= {"TRADEWIND_DATA": str(folder), "TRADEWIND_NOTICE": format_notice(days), "PYTHONUNBUFFERED": "1"}
    parent = os.getpid()
    address = f"http://{settings.host}:{settings.port}"
    filling = subprocess.Popen(
        [sys.executable, "-P", "-m", "benchmarks.sample.fill", address, str(folder), str(days)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the service, which ends this too
        preexec_fn=lambda: end_with_parent(parent, signal.SIGTERM),  # noqa: PLW1509 - one thread so far
    )
    try:
        return serve.main()
    finally:
        filling.terminate()
        with suppress(subprocess.TimeoutExpired):
            filling.wait(PATIENCE_S)


def make_own_folder(settings: Settings) -> Path:
    """Return the folder of the sample's data; make it if it is missing.

    Raises
    ------
    InvalidValue : databases are set: sample data would be mixed with what is in them; or the folder cannot be made.
    """
    for variable, value in (("DATABASE_URL", settings.database_url), ("REDIS_URL", settings.redis_url)):
        if value is not None:
            raise InvalidValue(variable, "must not be set with --sample, which serves from databases of its own")
    folder = (settings.data_folder / FOLDER).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidValue("TRADEWIND_DATA", f"cannot make the folder {folder}: {error.strerror}") from error
    return folder


def find_or_store_shift(folder: Path) -> int:
    """Return by how many days times are moved: decided when the sample is first served, and stored."""
    file = folder / SHIFT
    with suppress(FileNotFoundError, ValueError):
        return int(file.read_text(encoding="ascii"))
    days = count_shift_days()
    file.write_text(f"{days}\n", encoding="ascii")
    return days


def format_notice(days: int) -> str:
    """Return the notice of every page."""
    when = "at the times of their recording" if not days else f"their times moved by {days} days"
    return (
        f"Sample data: transfers that the project recorded on emulated paths, {when}. Energy is a model's, and "
        "the prices are made up: each transfer is quoted as if it had asked."
    )


if __name__ == "__main__":
    sys.exit(main())
