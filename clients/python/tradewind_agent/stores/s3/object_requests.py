"""Requests about one object: its bytes, and the steps of an upload in parts."""

from enum import Enum

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.http1 import RequestHead
from tradewind_agent.engine.sent_alone import SentAlone
from tradewind_agent.engine.upload_exchange import FileSlice, SendingFile, UploadExchange


class UploadStep(Enum):
    """What a request does."""

    PUT = "send the entire object"
    FIND = "find an upload in parts that an earlier run has started"
    LIST = "list the parts that it has"
    BEGIN = "begin an upload in parts"
    PART = "send a part"
    JOIN = "join the parts"
    ABORT = "have the store forget the parts, which would cost their owner until somebody does"


class ObjectExchange(SentAlone, UploadExchange):
    """One request; the document that answers it is kept.

    Attributes
    ----------
    step : what it does; ``number`` : of the part.
    """

    def __init__(
        self,
        file: SendingFile,
        url: Url,
        request: RequestHead,
        sent: FileSlice | None,
        *,
        step: UploadStep,
        number: int = 0,
    ) -> None:
        super().__init__(file, url, request, sent, is_full=False)
        self.step = step
        self.number = number
        self._document = bytearray()

    @property
    def document(self) -> bytes:
        return bytes(self._document)

    def on_data(self, data: memoryview) -> None:
        super().on_data(data)
        self._document += data


class DocumentSlice(FileSlice):
    """A document that is sent as a body."""

    def __init__(self, document: bytes) -> None:
        super().__init__(lambda first, length: document[first : first + length], 0, len(document) - 1)
