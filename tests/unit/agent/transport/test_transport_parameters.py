"""What the kernel holds of FLD_TCP, in the form of this version and of others."""

import struct

import pytest

from tradewind_agent.errors import OtherVersionLoaded
from tradewind_agent.transport.parameters import Parameters

DIGEST = b"sixteen bytes so"


def test_packed_parameters_are_unpacked():
    parameters = Parameters(growth_factor=4, threshold_bytes=5_000_000, initial_window_segments=0)
    assert Parameters.unpack(parameters.pack(DIGEST)) == (parameters, DIGEST)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((2**64 - 1, 3, 10), "threshold_bytes: must be within 0 and 9223372036854775808, got 18446744073709551615"),
        ((2_000_000, 1, 10), "growth_factor: must be within 2 and 8, got 1"),
        ((2_000_000, 3, 1001), "initial_window_segments: must be within 0 and 1000, got 1001"),
    ],
)
def test_parameters_outside_the_limits_are_another_versions(values, told):
    with pytest.raises(OtherVersionLoaded) as refused:
        Parameters.unpack(struct.pack("=QII16s", *values, DIGEST))
    assert str(refused.value) == f"its parameters are outside this version's limits: {told}"
