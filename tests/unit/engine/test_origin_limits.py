from tradewind_agent.engine.origin.limits import RAISE_S, OriginLimits


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def refuse(limits: OriginLimits, files: list[str], *, in_use: int, status: int = 503) -> None:
    """Requests for ``files`` are sent together, on pipelines of their own, and refused."""
    sent = [limits.note_start(f"pipeline of {file}", in_use) for file in files]
    for file, each in zip(files, sent, strict=True):
        limits.note_refused_file(file, each, in_use, status)


def limits_that_serve(clock: Clock | None = None) -> OriginLimits:
    limits = OriginLimits(clock or Clock())
    limits.note_served("other")
    return limits


def test_a_burst_of_refusals_lowers_once_to_the_connections_that_were_not_refused():
    limits = limits_that_serve()
    refuse(limits, [f"f{number}" for number in range(28)], in_use=32)
    assert limits.permitted == 4


def test_one_refused_file_lowers_nothing():
    limits = limits_that_serve()
    refuse(limits, ["broken"], in_use=32)
    refuse(limits, ["broken"], in_use=32)
    assert limits.permitted is None


def test_too_many_requests_halve_the_limit_whatever_the_number_of_refusals():
    limits = limits_that_serve()
    refuse(limits, [f"f{number}" for number in range(28)], in_use=32, status=429)
    assert limits.permitted == 16


def test_one_connection_is_added_after_a_minute_without_a_refusal():
    clock = Clock()
    limits = limits_that_serve(clock)
    refuse(limits, ["a", "b"], in_use=8)
    before = limits.permitted
    assert before is not None
    clock.now_s += RAISE_S
    assert limits.permitted == before + 1


def test_403_lowers_only_once_a_refused_file_was_served():
    limits = limits_that_serve()
    refuse(limits, ["a", "b", "c"], in_use=8, status=403)
    assert limits.permitted is None
    limits.note_served("a")
    assert limits.permitted == 4


def test_limit_lowered_by_a_forbidden_file_alone_is_restored():
    limits = limits_that_serve()
    refuse(limits, ["a"], in_use=8, status=403)
    limits.note_served("a")
    lowered = limits.permitted
    refuse(limits, ["forbidden"], in_use=4, status=403)
    assert limits.permitted != lowered
    limits.note_forbidden("forbidden")
    assert limits.permitted == lowered


def test_nobody_served_means_no_limit():
    limits = OriginLimits(Clock())
    refuse(limits, [f"f{number}" for number in range(8)], in_use=8)
    assert limits.permitted is None
