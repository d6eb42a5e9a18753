"""``tradewind doctor``: what stands in the way of good transfers."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tradewind_agent.cli import environment, options
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind_agent.diagnosis import Finding


def register(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(*, as_json: options.Json = False) -> None:
    """Check service, key, clock, kernel, meters, spool and disk; each line says what to do; exit 1 if one is bad."""
    from tradewind_agent import diagnosis
    from tradewind_agent.session.metering import HostMeter

    terminal = Terminal(as_json)
    spool = environment.open_spool(terminal)
    meter = HostMeter.of_this_host(calibrated=options.find_calibrated_meter(), source=options.find_meter_source())
    findings: list[Finding] = [
        *diagnosis.examine_service(os.environ, lambda: datetime.now(UTC)),
        *diagnosis.examine_tcp(),
        *diagnosis.examine_meter(meter.choice),
        *diagnosis.examine_spool(spool),
        *diagnosis.examine_disk({"spool disk": spool.folder, "this folder": Path.cwd()}),
    ]
    well = not any(finding.health is diagnosis.Health.BAD for finding in findings)
    document = {
        "well": well,
        "findings": [
            {"subject": each.subject, "health": str(each.health), "told": each.text, "advice": each.advice}
            for each in findings
        ],
    }
    rows = [
        (each.health.upper() if each.health is not diagnosis.Health.GOOD else "ok", each.format_line())
        for each in findings
    ]
    terminal.print_result("\n".join(f"{mark:4} {line}" for mark, line in rows), document)
    if not well:
        raise typer.Exit(1)
