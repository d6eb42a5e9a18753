"""Refused sign-ins are told in sums, whatever comes."""

from services.application.access.refused_sign_ins import MOST_ADDRESSES, OTHERS, RefusedSignIn, RefusedSignIns

PATH, WRONG = "/admin/sign-in", "login or password is wrong"


def test_a_flood_from_one_address_is_told_in_one_line_with_its_count() -> None:
    told: list[RefusedSignIn] = []
    refused = RefusedSignIns(told.append)
    for _ in range(500):
        refused.add("192.0.2.1", path=PATH, reason=WRONG)
    refused.add("192.0.2.2", path=PATH, reason=WRONG)
    refused.tell()
    assert [(each.visitor, each.attempts) for each in told] == [("192.0.2.1", 500), ("192.0.2.2", 1)]


def test_what_was_told_is_not_told_again() -> None:
    told: list[RefusedSignIn] = []
    refused = RefusedSignIns(told.append)
    refused.add("192.0.2.1", path=PATH, reason=WRONG)
    refused.tell()
    refused.tell()
    assert told == [RefusedSignIn("192.0.2.1", PATH, WRONG, 1)]


def test_more_addresses_than_are_told_apart_are_counted_together() -> None:
    told: list[RefusedSignIn] = []
    refused = RefusedSignIns(told.append)
    for number in range(3 * MOST_ADDRESSES):
        refused.add(f"2001:db8::{number:x}", path=PATH, reason=WRONG)
    refused.tell()
    assert len(told) == MOST_ADDRESSES + 1
    assert told[-1] == RefusedSignIn(OTHERS, PATH, WRONG, 2 * MOST_ADDRESSES)
    assert sum(each.attempts for each in told) == 3 * MOST_ADDRESSES
