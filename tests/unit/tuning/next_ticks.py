"""The next tick of a transfer, and what is decided on it."""

from tradewind.tuning import ChunkProgress, TickSample, step


def sample(transfer, **values) -> TickSample:
    """The next tick of a transfer that goes on as its table expects."""
    plan = {each.chunk: each.parameters for each in transfer.decision.chunks}
    rate = values.pop("throughput_bps", 90e6)
    remaining = values.pop("remaining", 30 * 10**9)
    told = {
        "sequence": transfer.state.sequence + 1,
        "at_s": transfer.state.at_s + 5,
        "interval_s": 5.0,
        "bytes_moved": 10**9,
        "throughput_bps": rate,
        "remaining_bytes": remaining,
        "remaining_files": 1000,
        "rtt_s": 0.08,
        "min_rtt_s": 0.06,
        "chunks": tuple(
            ChunkProgress(kind=kind, parameters=parameters, throughput_bps=rate / len(plan), remaining_bytes=remaining)
            for kind, parameters in plan.items()
        ),
    }
    return TickSample(**{**told, **values})


def stepped(transfer, one: TickSample):
    return step(transfer.basis, transfer.state, one)


def parameters_of(decision):
    return [each.parameters for each in decision.chunks]
