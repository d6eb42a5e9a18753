"""SDK: advice on codecs and the history that it comes from, as ``client.compression``."""

from pydantic import TypeAdapter

from tradewind.wire.compression import (
    AdviceAnswer,
    AdviceRequest,
    FullRecommendRequest,
    FullRecommendResponse,
    NewObservations,
    ObservationsReceipt,
)
from tradewind_agent.service.calls import Calls


class Compression:
    """Calls about compression; raises what every call of the client does."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def advise(self, request: AdviceRequest) -> AdviceAnswer:
        """Return the codec, level and mode for a file on a path; the raw transfer where that is better."""
        return self._calls.call("POST", "/v1/compression/advise", TypeAdapter(AdviceAnswer), body=request)

    def recommend(self, request: FullRecommendRequest) -> FullRecommendResponse:
        """As `Client.recommend`, with advice on codecs where it is requested."""
        return self._calls.call("POST", "/v1/recommend", TypeAdapter(FullRecommendResponse), body=request)

    def add_observations(self, observations: NewObservations) -> ObservationsReceipt:
        """Tell what codecs made of files that were transferred. Twice is once."""
        return self._calls.call(
            "POST", "/v1/compression/observations", TypeAdapter(ObservationsReceipt), body=observations
        )
