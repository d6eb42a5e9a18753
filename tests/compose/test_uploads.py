"""A body that is larger than the memory that an API container has for it."""

import re

import pytest

from tests.compose.conftest import new_client
from tradewind.units import MIB

SENT_BYTES = 200 * MIB
HELD_BYTES = 2 * MIB
"""What a container may hold of files in memory meanwhile: less than a piece of the body."""


class Seen(Exception):
    """The body was looked at while it lay there, and is not wanted any more."""


def test_a_large_upload_is_put_aside_on_a_disk_and_not_in_the_memory_of_a_container(stack, key, figure):
    held = []

    def body():
        for _ in range(SENT_BYTES // MIB):
            yield b" " * MIB
        held.extend(in_memory_files(stack, container) for container in stack.containers("api"))
        raise Seen

    with new_client(stack, key) as client, pytest.raises(Seen):
        client.post("/v1/logs", content=body(), headers={"Content-Type": "application/x-ndjson"})
    figure(f"of an upload of {SENT_BYTES / 1e6:.0f} MB in memory of API containers: {max(held) / 1e6:.1f} MB")
    assert max(held) < HELD_BYTES


def in_memory_files(stack, container):
    """Bytes of a container's files that lie in memory, such as those of /tmp."""
    told = stack.run("docker", "exec", container, "df", "--block-size=1", "--output=used", "/tmp").stdout
    (used,) = re.findall(r"\d+", told)
    return int(used)
