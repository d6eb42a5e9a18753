"""How an interval's energy is shared out among transfers, on made-up numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind_agent.serve.energy_shares import EnergyInterval, TransferAccount, share_out

SECOND = EnergyInterval(duration_s=1.0, energy_j=100.0, cpu_s=0.4)


def test_only_transfer_gets_all_energy():
    account = TransferAccount(moved_bytes=10)
    share_out(SECOND, [account], TransferAccount())
    share_out(SECOND, [account], TransferAccount())
    assert (account.energy_j, account.base_s, account.cpu_s, account.duration_s) == (200.0, 2.0, 0.8, 2.0)
    assert account.was_alone


def test_transfers_share_by_the_bytes_of_this_very_interval():
    early, late = TransferAccount(moved_bytes=5000), TransferAccount()
    share_out(SECOND, [early, late], TransferAccount())
    early.moved_bytes += 100
    late.moved_bytes += 300
    share_out(SECOND, [early, late], TransferAccount())
    assert (early.energy_j, late.energy_j) == (125.0, 75.0)
    assert (early.base_s, late.base_s) == (1.25, 0.75)
    assert early.duration_s == late.duration_s == 2.0
    assert not early.was_alone
    assert not late.was_alone


def test_idle_energy_is_shared_equally():
    one, other = TransferAccount(), TransferAccount()
    share_out(SECOND, [one, other], TransferAccount())
    assert one.energy_j == other.energy_j == 50.0


def test_bytes_of_unnamed_clients_are_not_charged_to_transfers():
    account, others = TransferAccount(moved_bytes=300), TransferAccount(moved_bytes=100)
    share_out(SECOND, [account], others)
    assert account.energy_j == 75.0
    assert not account.was_alone
    share_out(SECOND, [account], others)
    assert account.energy_j == 175.0


def test_index_page_during_transfer_does_not_make_energy_assumed():
    account = TransferAccount(moved_bytes=1_000_000)
    share_out(SECOND, [account], TransferAccount(moved_bytes=2000))
    assert account.was_alone


Moves = st.lists(st.tuples(*[st.integers(0, 10**12)] * 3), min_size=1, max_size=20)


@given(Moves)
def test_the_parts_of_all_transfers_are_never_more_than_the_host_took(moves):
    one, other, nameless = TransferAccount(), TransferAccount(), TransferAccount()
    for steps in moves:
        for account, moved_bytes in zip((one, other, nameless), steps, strict=True):
            account.moved_bytes += moved_bytes
        share_out(SECOND, [one, other], nameless)
    assert one.energy_j + other.energy_j <= len(moves) * SECOND.energy_j * (1 + 1e-9)
    if not nameless.moved_bytes:
        assert one.energy_j + other.energy_j == pytest.approx(len(moves) * SECOND.energy_j)
