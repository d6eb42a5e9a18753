"""The objects of given keys, found by pages of a listing that begin where the next key is."""

import asyncio
import os
from collections.abc import Sequence
from itertools import pairwise

from tradewind_agent.stores.s3.bucket_listing import REQUESTS_AT_ONCE, BucketListing, PageTokens
from tradewind_agent.stores.s3.bucket_pages import (
    StoredObject,
    encode_key,
    find_key_before,
    make_page_url,
)

_FEW_KEYS = 16
"""Keys that are looked for one by one: of more, pages are read, as one may hold many of them."""


async def find_objects(listing: BucketListing, keys: Sequence[str]) -> list[StoredObject]:
    """Return the objects that have one of the keys; there are never more requests than keys.

    Raises
    ------
    UnusableSource : the bucket cannot be listed.
    """
    in_order = sorted(keys, key=encode_key)
    run_keys = 1 if len(keys) <= _FEW_KEYS else max(-(-len(in_order) // REQUESTS_AT_ONCE), _FEW_KEYS)
    runs = [in_order[start : start + run_keys] for start in range(0, len(in_order), run_keys)]
    found = await asyncio.gather(*(_find_run(listing, each) for each in runs))
    return [each for run in found for each in run]


async def _find_run(listing: BucketListing, keys: Sequence[str]) -> list[StoredObject]:
    """Return the objects of keys that are in order.

    Each page begins at the next key, which leaps over what nobody looks for. A store may ignore where it is to begin,
    and is read page after page then. One that has keys in another order, as a store of folders may, is read to its end.
    """
    required, found = set(keys), list[StoredObject]()
    prefix = os.path.commonprefix([keys[0], keys[-1]])  # noqa: RUF071 -- of keys, which have no folders
    position, token, ignores_begin, last, chain = 0, None, False, b"", PageTokens(listing.name)
    while position < len(keys):
        begin = None if token or keys[position] == prefix else find_key_before(keys[position])
        url = make_page_url(listing.url, prefix, token, begin=begin)
        page = await listing.read_page(url, prefix)
        if not _are_in_order(page.objects, last if token else b""):
            return [each for each in await listing.read_pages(prefix) if each.key in required]
        found += (each for each in page.objects if each.key in required)
        if page.next_token is None:
            break
        chain.add(page.next_token)
        if not page.objects:
            token = page.next_token
            continue
        if begin is not None and encode_key(page.objects[0].key) <= encode_key(begin):
            ignores_begin = True
        last, before = encode_key(page.objects[-1].key), position
        while position < len(keys) and encode_key(keys[position]) <= last:
            position += 1
        token = page.next_token if ignores_begin or position == before else None
        if token is None:
            chain = PageTokens(listing.name)
    return found


def _are_in_order(objects: Sequence[StoredObject], after: bytes) -> bool:
    """Return whether keys follow ``after`` and one another in the order of keys."""
    keys = [after, *(encode_key(each.key) for each in objects)]
    return all(earlier <= later for earlier, later in pairwise(keys))
