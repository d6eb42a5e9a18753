from tradewind.transfer import Direction
from tradewind_agent.copy.listing import Listing
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import DownloadJob


def test_the_words_for_a_listing_do_not_grow_with_its_files():
    source = Url.parse("http://host/data/")
    jobs = tuple(DownloadJob(source=source.join_path(str(n)), destination=str(n)) for n in range(1000))
    listing = Listing(
        jobs=jobs, direction=Direction.DOWNLOAD, remote=source.origin, sizes_bytes=(1,) * 1000, sizes_are_exact=True
    )
    assert len(repr(listing)) < 1000
