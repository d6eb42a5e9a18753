"""Whatever may be asked is answered with finite numbers, or refused with a reason."""

import math
from uuid import uuid4

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from services.api.routes.recommend import encode_answer, to_transfer_request
from tests.unit.application.recommend.models import EMPTY_SNAPSHOT, LINK, leaf_model, snapshot
from tests.unit.application.recommend.requests import recommend
from tradewind.errors import InvalidValue
from tradewind.sla.kinds import CONFIDENCES, EnergyBasis, SlaKind
from tradewind.wire.base import BIGINT_MAX
from tradewind.wire.recommendations import RecommendRequest, RecommendResponse

LEARNED = snapshot(leaf_model(300, 100_000), leaf_model(4, 40_000_000, tier=1))
TARGETED = (SlaKind.THROUGHPUT_AT_LEAST, SlaKind.DEADLINE, SlaKind.ENERGY_AT_MOST, SlaKind.POWER_AT_MOST)
TARGET = st.floats(1e-9, 1e18)
COUNT = st.integers(min_value=1, max_value=BIGINT_MAX)


@st.composite
def draw_slas(draw: st.DrawFn) -> dict[str, object]:
    kind = draw(st.sampled_from(SlaKind))
    agreed: dict[str, object] = {
        "kind": kind,
        "confidence": draw(st.sampled_from(CONFIDENCES)),
        "energy_basis": draw(st.sampled_from(EnergyBasis)),
    }
    if kind in TARGETED:
        fraction = kind is SlaKind.THROUGHPUT_AT_LEAST and draw(st.booleans())
        agreed |= {"fraction": draw(st.floats(0.01, 1))} if fraction else {"target": draw(TARGET)}
    return agreed


@st.composite
def histograms(draw: st.DrawFn) -> dict[str, object]:
    ends = sorted(draw(st.sets(st.integers(1, 2**40), min_size=1, max_size=4)))
    bins = []
    for end in ends:
        files = draw(st.integers(0, 10_000))
        bins.append({"max_file_bytes": end, "file_count": files, "total_bytes": draw(st.integers(0, files * end))})
    bins[0]["file_count"] += 1
    totals = {name: sum(each[name] for each in bins) for name in ("file_count", "total_bytes")}
    return totals | {"size_histogram": bins}


DATASETS = st.one_of(st.fixed_dictionaries({"file_count": COUNT, "total_bytes": COUNT}), histograms())
PATHS = st.fixed_dictionaries(
    {},
    optional={
        "bandwidth_bps": st.floats(1, 1e16),
        "rtt_s": st.floats(1e-9, 1e5),
        "buffer_bytes": st.floats(1, 1e15),
        "loss_rate": st.floats(0, 1),
    },
)


@settings(max_examples=300)
@given(draw_slas(), DATASETS, PATHS, st.floats(0, 1), st.sampled_from([LEARNED, EMPTY_SNAPSHOT]))
def test_any_valid_request_is_answered_with_finite_numbers(sla, dataset, path, load, learned) -> None:
    asked = {
        "source": LINK.source,
        "destination": LINK.destination,
        "dataset": dataset,
        "sla": sla,
        "path": path,
        "load": load,
    }
    try:
        offer = recommend(to_transfer_request(RecommendRequest.model_validate(asked)), learned, new_transfer_id=uuid4)
    except InvalidValue as refused:
        assert refused.field in {"sla.energy_basis", "path"}  # noqa: PT017 - the reason is under test
        return
    made = RecommendResponse.model_validate(orjson.loads(encode_answer(offer)))
    assert 0 <= made.sla.probability <= 1
    predicted = made.predicted
    for interval in (predicted.throughput_bps, predicted.energy_j, predicted.power_w):
        if interval is not None:
            assert all(map(math.isfinite, (interval.mean, interval.low, interval.high)))
