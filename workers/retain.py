"""Which months of logs are due, and why one cannot be dropped yet: ``python -m workers.retain [--drop] [--months N]``.

Without ``--drop`` nothing is changed. Workers do the same each night where TRADEWIND_LOG_MONTHS is set.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from services.application.logs.retain import MonthDue
from services.observability.telemetry import create_logger
from services.settings import MAX_LOG_MONTHS, Settings
from tradewind.errors import InvalidValue, TradewindError
from tradewind.units import format_bytes
from workers.parts import WorkerParts


def main(arguments: Sequence[str]) -> int:
    """Print which months are due, and drop them with ``--drop``; return 0, 1 on failure, 2 for invalid settings."""
    options = _build_parser().parse_args(arguments)
    try:
        settings = Settings.from_environment(os.environ, data_folder=Path("var"))
        if options.months is not None:
            settings = replace(settings, log_months=options.months)
        for line in _list_lines(settings, drop=options.drop):
            sys.stdout.write(f"{line}\n")
    except InvalidValue as wrong:
        return _fail(wrong, 2)
    except TradewindError as error:
        return _fail(error, 1)
    return 0


def _list_lines(settings: Settings, *, drop: bool) -> Sequence[str]:
    database_url, redis_url = settings.required_database_url, settings.required_redis_url
    if settings.log_months is None:
        raise InvalidValue(
            "TRADEWIND_LOG_MONTHS", "must be set, or --months given: without it all logs are stored for good"
        )
    log = create_logger("retain", output=sys.stderr)
    with closing(WorkerParts.open(database_url, redis_url, settings=settings, log=log)) as parts:
        retention = parts.of_logs.retention
        assert retention is not None, "months are set"
        due = retention.run() if drop else retention.plan()
    if not due:
        return [f"no month is due: the current one and the {settings.log_months} before it stay"]
    return [line for month in due for line in _format_month(month)]


def _format_month(due: MonthDue) -> Sequence[str]:
    stored = due.stored
    state = "dropped" if due.dropped else "cannot be dropped yet" if due.obstacles else "would be dropped"
    return [
        f"{stored.month}  about {stored.rows} rows, {format_bytes(float(stored.bytes))}  {state}",
        *(f"    {reason}" for reason in due.obstacles),
    ]


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.retain", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--drop", action="store_true", help="drop what can be; without it nothing is changed")
    parser.add_argument(
        "--months", type=int, choices=range(1, MAX_LOG_MONTHS + 1), metavar="N", help="instead of TRADEWIND_LOG_MONTHS"
    )
    return parser


def _fail(error: TradewindError, code: int) -> int:
    sys.stderr.write(f"retain: {error}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
