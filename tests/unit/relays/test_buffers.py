"""Buffers of relayed units: bytes come back as they went in, and no more wait than the limits permit."""

import pytest

from tradewind.units import MIB
from tradewind_agent.engine.relay.buffers import LONGEST_IN_MEMORY_BYTES, BufferPool
from tradewind_agent.engine.relay.units import Units


@pytest.mark.parametrize("length", [10, LONGEST_IN_MEMORY_BYTES + 1, None])
def test_bytes_come_back_as_they_went_in(length: int | None):
    buffer = BufferPool().make_buffer(length)
    buffer.write(5, b"world")
    buffer.write(0, memoryview(b"hello"))
    assert b"".join(buffer.read_blocks()) == b"helloworld"
    assert buffer.read(3, 4) == b"lowo"
    buffer.close()


def test_units_wait_for_room_in_memory():
    pool = BufferPool(memory_bytes=10 * MIB)
    held = [pool.make_buffer(4 * MIB), pool.make_buffer(4 * MIB)]
    assert not pool.has_room(4 * MIB)
    woken: list[int] = []
    pool.call_when_room(lambda: woken.append(1))
    held.pop().close()
    assert (woken, pool.has_room(4 * MIB)) == ([1], True)
    held.pop().close()
    assert woken == [1]


def test_a_unit_is_permitted_at_all_times_and_longer_ones_go_to_files():
    pool = BufferPool(memory_bytes=MIB, spooled_bytes=100 * MIB)
    assert pool.has_room(8 * MIB)
    first = pool.make_buffer(8 * MIB)
    assert (first.memory_bytes, first.spooled_bytes) == (8 * MIB, 0)
    long = pool.make_buffer(80 * MIB)
    assert (long.memory_bytes, long.spooled_bytes) == (0, 80 * MIB)
    assert not pool.has_room(80 * MIB)
    forced = pool.make_buffer(8 * MIB)
    assert (forced.memory_bytes, forced.spooled_bytes) == (0, 8 * MIB)
    for buffer in (first, long, forced):
        buffer.close()


@pytest.mark.parametrize(("size", "unit"), [(0, 8), (8, 8), (9, 8), (800, 8), (807, 8)])
def test_units_cover_a_file_without_gaps(size: int, unit: int):
    units = Units(size, unit)
    position = 0
    for number in range(1, units.count + 1):
        first, last = units.get_range(number)
        assert first == position
        assert units.measure(number) == last + 1 - first
        assert all(units.find_unit(at) == number for at in (first, last) if last >= first)
        position = last + 1
    assert position == size
