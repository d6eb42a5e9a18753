"""Advice on a file: sampled here, answered by the service, or by the packaged history where that is away."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tradewind.compression.advice import Objective, advise
from tradewind.compression.codecs import Codec, CodecSetting
from tradewind.compression.contest import advise_by_trial
from tradewind.compression.model import NetworkLine, Speeds
from tradewind.wire.compression import (
    AdviceAnswer,
    AdviceRequest,
    ExpectedRates,
    FileClassRequest,
    WireSampled,
    WireSpeeds,
)
from tradewind_agent.compression.sampling import FileSample, sample_file
from tradewind_agent.compression.trials import try_setting
from tradewind_agent.errors import AgentError

if TYPE_CHECKING:
    from tradewind.compression.history import History
    from tradewind_agent.service.client import Client


def advise_on_file(
    file: Path,
    line: NetworkLine,
    *,
    client: "Client | None",
    codecs: frozenset[Codec],
    packing_setup_s: float = 0.0,
    objective: Objective = Objective.MAX_THROUGHPUT,
    sequential: bool = False,
) -> tuple[AdviceAnswer, str]:
    """Return the advice by ``codecs`` of both ends, and why it is not the service's where it is not.

    ``packing_setup_s`` : what a packed transfer costs in addition to the line's set-up.

    Raises
    ------
    OSError : the file cannot be read.
    """
    sample = sample_file(file, line.rate_bps)
    request = make_advice_request(
        sample, line, codecs, packing_setup_s=packing_setup_s, objective=objective, sequential=sequential
    )
    reason = ""

    def advise_measured(measured: Mapping[CodecSetting, Speeds]) -> AdviceAnswer:
        nonlocal reason
        sampled_request = request.model_copy(update={"samples": to_wire_samples(measured)})
        if reason:
            return advise_locally(sampled_request)
        answer, reason = request_advice(sampled_request, client)
        return answer

    for_throughput = objective is Objective.MAX_THROUGHPUT
    return advise_by_trial(
        advise_measured, lambda setting: try_setting(setting, sample), for_throughput=for_throughput
    ), reason


def make_advice_request(
    sample: FileSample,
    line: NetworkLine,
    codecs: frozenset[Codec],
    *,
    packing_setup_s: float = 0.0,
    objective: Objective = Objective.MAX_THROUGHPUT,
    sequential: bool = False,
) -> AdviceRequest:
    """Return the request for advice on a sampled file."""
    return AdviceRequest(
        file_bytes=sample.file_bytes,
        bandwidth_bps=line.rate_bps,
        setup_s=line.setup_s,
        packing_setup_s=packing_setup_s,
        kind=sample.content.kind,
        entropy_bits_per_byte=sample.content.entropy_bits_per_byte,
        cpu_class=sample.cpu_class,
        probe=WireSpeeds.from_domain(sample.probe),
        codecs=tuple(sorted(codecs)),
        sequential=sequential,
        objective=objective,
    )


def to_wire_samples(measured: Mapping[CodecSetting, Speeds]) -> tuple[WireSampled, ...]:
    """Return the measurements of a sample in wire form."""
    return tuple(
        WireSampled(codec=setting.codec, level=setting.level, speeds=WireSpeeds.from_domain(speeds))
        for setting, speeds in measured.items()
    )


def request_advice(request: AdviceRequest, client: "Client | None") -> tuple[AdviceAnswer, str]:
    """Return the service's answer, else one of this host's own and why."""
    reason = "no service is configured"
    if client is not None:
        try:
            return client.compression.advise(request), ""
        except AgentError as failure:
            reason = str(failure)
    return advise_locally(request), f"{reason}; advice from the packaged measurements"


def advise_locally(request: AdviceRequest) -> AdviceAnswer:
    """Return the advice without a service."""
    from tradewind.compression.prior import build_typical_probe, load_packaged_history  # noqa: PLC0415 -- loaded when needed

    advice = advise(request.to_query(build_typical_probe(request.kind)), load_packaged_history())
    source = "a sample of the file and the packaged measurements"
    return AdviceAnswer.from_domain(advice, sampled=request.probe is not None, source=source)


def advise_on_class_locally(
    request: FileClassRequest, rates: ExpectedRates, history: "History | None" = None
) -> AdviceAnswer:
    """Return the advice on a sort of files without a service.

    ``history`` : in place of the packaged measurements.
    """
    from tradewind.compression.prior import build_typical_probe, load_packaged_history  # noqa: PLC0415

    advice = advise(request.to_query(build_typical_probe(request.kind), rates), history or load_packaged_history())
    return AdviceAnswer.from_domain(advice, sampled=True, source="a sample of the files and the packaged measurements")
