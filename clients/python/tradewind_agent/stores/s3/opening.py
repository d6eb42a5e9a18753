"""The bucket of an address, with the user's access to it."""

from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.stores.port import Place
from tradewind_agent.stores.s3.address import S3Address
from tradewind_agent.stores.s3.session import open_session
from tradewind_agent.stores.s3.store import S3Store


def open_bucket(text: str, options: EngineOptions) -> Place:
    """Return the place that ``s3://bucket/key`` names; requests of the run are signed for its bucket from now on.

    Raises
    ------
    UnusableSource : no such address, or no credentials.
    LibraryMissing
    """
    address = S3Address.parse(text)
    store = S3Store(address.bucket, open_session(options.stores), options)
    return Place(store, store.find_url(address.key))
