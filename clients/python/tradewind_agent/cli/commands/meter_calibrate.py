"""``tradewind meter --calibrate``: load this host step by step, fit its power models, keep and upload them.

``--upload`` alone uploads what was kept.
"""

import os
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import environment, options
from tradewind_agent.cli.meter_trace import TraceOptions, format_moment, read_trace, report_corrections
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind_agent.meters.calibration import Calibration
    from tradewind_agent.meters.power_trace import PowerTrace
    from tradewind_agent.session.metering import HostMeter


OLDEST_TRACE_S = 600.0
"""A meter's program may write what it has in pieces, but none as late; nor is a clock of the day as far ahead."""

TRACE_LATE_S = 5.0
"""How long the rows of the last step are waited for."""


@dataclass(frozen=True, slots=True)
class CalibrationOptions:
    """``afresh`` : not what an earlier one has left. ``step_s`` : ``None`` for as long as the meter needs.
    ``upload_as`` : name of the profile at the service; ``None`` where it is only kept here.
    ``file_url`` : of a file on another host, by which the network is loaded; ``None`` leaves it out."""

    afresh: bool
    step_s: float | None
    upload_as: str | None
    file_url: str | None = None


def build_calibration_options(
    *,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Load this host step by step while a meter, or --trace, records its power, and fit models.",
        ),
    ] = False,
    step: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Of --calibrate: how long each step takes.", show_default="5s; on battery 40s"
        ),
    ] = None,
    receive: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Of --calibrate: a large file of another host, to load the network with."),
    ] = None,
    upload: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Upload the calibration, or the one kept, as the profile of that device."),
    ] = None,
) -> CalibrationOptions | None:
    """Return the requested options of a calibration; ``None`` where none is requested."""
    if not calibrate and step is not None:
        raise typer.BadParameter("goes with --calibrate", param_hint="--step")
    if not calibrate and receive is not None:
        raise typer.BadParameter("goes with --calibrate", param_hint="--receive")
    if not calibrate and upload is None:
        return None
    from tradewind.wire.devices import parse_profile_name

    return CalibrationOptions(
        calibrate,
        None if step is None else options.parse_duration_s("--step", step),
        options.read_if("--upload", parse_profile_name, upload),
        None if receive is None else _check_file_url(receive),
    )


def _check_file_url(url: str) -> str:
    """Refuse what is no address of a web server."""
    from tradewind_agent.engine.http.address import Url
    from tradewind_agent.errors import UnusableSource

    try:
        return str(Url.parse(url))
    except UnusableSource as wrong:
        raise typer.BadParameter(str(wrong), param_hint="--receive") from None


def calibrate_host(
    terminal: Terminal, host: "HostMeter", request: CalibrationOptions, trace: TraceOptions | None
) -> None:
    """Load the host in steps, fit and store the models, upload them; they are stored even if the upload fails."""
    from tradewind_agent.errors import AgentError
    from tradewind_agent.folders import build_state_folder
    from tradewind_agent.meters.stored_models import FILE, store_calibration

    folder = build_state_folder(os.environ)
    if trace is not None and trace.is_of_a_transfer:
        raise typer.BadParameter(
            "are of a transfer, not of --calibrate", param_hint="--began, --ended, --moved, --tail"
        )
    if trace is not None and not request.afresh:
        raise typer.BadParameter("goes with --calibrate where there is a trace", param_hint="--upload")
    calibration = None if request.afresh else _load_stored(folder)
    client = None if request.upload_as is None else environment.open_client()
    if calibration is None:
        calibration = _calibrate(terminal, host, request, trace)
        store_calibration(calibration, folder)
    failure = None
    if client is not None and request.upload_as is not None:
        with client:
            try:
                client.mobile.upload_device(
                    request.upload_as, calibration.build_device_profile("calibrated", request.upload_as)
                )
            except AgentError as away:
                failure = f"not uploaded: {away}; `tradewind meter --upload {request.upload_as}` does it later"
    _report(terminal, calibration, folder / FILE, request.upload_as, failure)
    if failure is not None:
        raise typer.Exit(1)


def _load_stored(folder: Path) -> "Calibration":
    from tradewind_agent.errors import CalibrationUnusable
    from tradewind_agent.meters.stored_models import load_calibration

    if (calibration := load_calibration(folder)) is None:
        raise CalibrationUnusable("nothing is kept here to be uploaded; run `tradewind meter --calibrate` first")
    return calibration


def _report(
    terminal: Terminal, calibration: "Calibration", path: Path, upload_as: str | None, failure: str | None
) -> None:
    watts = "".join(f", {name} {power_w:.2f} W" for name, power_w in calibration.measured_w.items())
    uploaded_as = None if failure else upload_as
    stored = f"kept in {path}" + (f", uploaded as {uploaded_as}" if uploaded_as else "")
    if failure:
        stored += f"; {failure}"
    terminal.print_result(
        f"{calibration.idle_w:.2f} W idle{watts} (fine-grained, cross-validated error {calibration.fine_error:.1%}); "
        f"CPU-only: a {calibration.cpu_form}, error {calibration.cpu_error:.1%}; transfers are metered by "
        f"{calibration.meter_by}, the better one, where power cannot be measured; {calibration.source}; "
        f"of {calibration.covers}; not measured: {', '.join(calibration.not_measured)}; {stored}",
        asdict(calibration)
        | {"component_w": calibration.measured_w, "covers": calibration.covers}
        | {"not_measured": calibration.not_measured, "kept": str(path), "uploaded_as": uploaded_as}
        | {"upload_failure": failure},
    )


def _calibrate(
    terminal: Terminal, host: "HostMeter", request: CalibrationOptions, trace: TraceOptions | None
) -> "Calibration":
    from tradewind.energy.measured import EnergyMethod, EnergyQuality
    from tradewind_agent.meters.calibration import add_trace, calibrate
    from tradewind_agent.meters.ladder import GAUGE_STEP_S, STEP_S, build_host_loads, climb

    meter = host.choice.meter
    if trace is None and meter.quality is not EnergyQuality.MEASURED:
        raise typer.BadParameter(
            f"needs a measured power, and none can be read here ({host.choice.explanation}); "
            "record one by a power meter meanwhile and give it as --trace",
            param_hint="--calibrate",
        )
    if trace is not None:
        _check_recording(trace.file)
    by_gauge = trace is None and meter.method is EnergyMethod.BATTERY
    with tempfile.TemporaryDirectory(prefix="tradewind-", dir=Path.cwd()) as folder:
        steps = climb(
            build_host_loads(host.reader.read().logical_cpus, Path(folder), request.file_url),
            read=host.reader.read,
            energy_j=meter.read_energy_j if trace is None else None,
            step_s=request.step_s or (GAUGE_STEP_S if by_gauge else STEP_S),
            say=lambda line: None if terminal.json else terminal.note(line),
        )
    if trace is None:
        return calibrate(steps, method=meter.method, source=f"calibrated by {meter.description}")
    recorded = _wait_for_trace(steps[-1].finished_s, trace.file)
    report_corrections(terminal, trace.file, recorded)
    measured = add_trace(steps, recorded)
    return calibrate(measured, method=EnergyMethod.METER, source=f"calibrated by the trace {trace.file.name}")


def _check_recording(file: Path) -> None:
    """See that a trace is being recorded before the ladder is climbed, which takes a minute; it may just have started.

    Raises
    ------
    InvalidTrace : what is there by now is no trace; more rows cannot correct it.
    """
    from tradewind.errors import TooFewSamples

    try:
        last_s = read_trace(file, still_written=True).time_s[-1]
    except TooFewSamples:
        return
    if abs(last_s - time.time()) > OLDEST_TRACE_S:
        reason = f"{file} is not being recorded now, with the day's clock: it ends at {format_moment(last_s)}"
        raise typer.BadParameter(reason, param_hint="--trace")


def _wait_for_trace(finished_s: float, file: Path) -> "PowerTrace":
    """Return the trace once it covers the last step; the recorder may write late, and half a row at a time.

    When it is waited for no longer, a last row without an end is taken as whole: nobody may ever end it.
    """
    from tradewind.errors import InvalidTrace

    give_up_s = time.monotonic() + TRACE_LATE_S
    while True:
        late = time.monotonic() > give_up_s
        try:
            if (trace := read_trace(file, still_written=not late)).time_s[-1] >= finished_s or late:
                return trace
        except InvalidTrace:
            if late:
                raise
        time.sleep(TRACE_LATE_S / 20)
