"""The rate that a user's own options hold a tool to."""

import pytest

from tradewind_agent.movers.rate_option import find_user_rate_bps

KIB_S, MIB_S = 8 * 2**10, 8 * 2**20


@pytest.mark.parametrize(
    ("tool", "options", "rate_bps"),
    [
        ("curl", {"limit-rate": ("300k",)}, 4 * 300 * KIB_S),  # of each of the four files at once
        ("curl", {"limit-rate": ("1M", "0")}, None),
        ("curl", {"silent": ("",)}, None),
        ("aria2", {"max-overall-download-limit": ("2M",)}, 2 * MIB_S),
        ("aria2", {"max-overall-download-limit": ("9M",), "max-download-limit": ("1M",)}, 4 * MIB_S),
        ("rclone", {"bwlimit": ("10",)}, 10 * KIB_S),
        ("rclone", {"bwlimit": ("10M:1M",)}, MIB_S),
        ("rclone", {"bwlimit": ("08:00,512k Mon-19:00,1.5M 23:00,off",)}, 512 * KIB_S),
        ("rclone", {"bwlimit": ("off",)}, None),
        ("rclone", {"bwlimit-file": ("1M",)}, 4 * MIB_S),
        ("rsync", {"bwlimit": ("1.5m",)}, 1.5 * MIB_S),
        ("rsync", {"bwlimit": ("100",)}, 100 * KIB_S),
        ("scp", {"l": ("800",)}, 800 * 2**10),
        ("globus-url-copy", {"p": ("4",)}, None),
    ],
)
def test_lowest_rate_that_the_user_set_is_known(tool, options, rate_bps):
    assert find_user_rate_bps(tool, options, files_at_once=4) == rate_bps
