"""Requests about one object: its bytes, and the steps of an upload in parts."""

from enum import Enum

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.http1 import RequestHead
from tradewind_agent.engine.http.sending.document import Document
from tradewind_agent.engine.sent_alone import SentAlone
from tradewind_agent.engine.upload_exchange import FileSlice, SendingFile, UploadExchange


class UploadStep(Enum):
    """What a request does."""

    PUT = "send the entire object"
    DESCRIBE = "read the metadata of an object that is copied within the store"
    FIND = "find an upload in parts that an earlier run has started"
    LIST = "list the parts that it has"
    BEGIN = "begin an upload in parts"
    PART = "send a part"
    JOIN = "join the parts"
    CHECK = "look whether the parts were joined already"
    VERIFY = "look whether the object has its properties: an earlier run may have started the upload with others"
    LOOK = "look whether the object is there, as an answer states no sum of it"
    ABORT = "have the store forget the parts, which would cost their owner until somebody does"


class ObjectExchange(SentAlone, UploadExchange):
    """One request; the document that answers it is kept.

    Attributes
    ----------
    step : what it does; ``number`` : of the part; ``upload_id`` : of the upload in parts that it belongs to.
    """

    def __init__(
        self,
        file: SendingFile,
        url: Url,
        request: RequestHead,
        body: FileSlice | Document | None,
        *,
        step: UploadStep,
        number: int = 0,
        upload_id: str = "",
    ) -> None:
        super().__init__(file, url, request, body if isinstance(body, FileSlice) else None, is_full=False)
        self.payload = body
        self.step = step
        self.number = number
        self.upload_id = upload_id
        self._answer = bytearray()

    @property
    def document(self) -> bytes:
        """Return the document, without the blanks by which a store has kept the connection alive."""
        return bytes(self._answer).strip()

    def on_data(self, data: memoryview) -> None:
        super().on_data(data)
        self._answer += data
