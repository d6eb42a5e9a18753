"""Refused sign-ins are told in sums, whatever comes."""

from services.application.access.refused_sign_ins import MAX_ADDRESSES, OTHERS, RefusedSignIn, RefusedSignIns

PATH, WRONG = "/admin/sign-in", "login or password is wrong"


def test_flood_from_one_address_is_one_log_line_with_its_count() -> None:
    told: list[RefusedSignIn] = []
    refused = RefusedSignIns(told.append)
    for _ in range(500):
        refused.add("192.0.2.1", path=PATH, reason=WRONG)
    refused.add("192.0.2.2", path=PATH, reason=WRONG)
    refused.report()
    assert [(each.visitor, each.attempts) for each in told] == [("192.0.2.1", 500), ("192.0.2.2", 1)]


def test_reported_sign_in_is_not_reported_again() -> None:
    told: list[RefusedSignIn] = []
    refused = RefusedSignIns(told.append)
    refused.add("192.0.2.1", path=PATH, reason=WRONG)
    refused.report()
    refused.report()
    assert told == [RefusedSignIn("192.0.2.1", PATH, WRONG, 1)]


def test_addresses_beyond_the_maximum_are_counted_together() -> None:
    told: list[RefusedSignIn] = []
    refused = RefusedSignIns(told.append)
    for number in range(3 * MAX_ADDRESSES):
        refused.add(f"2001:db8::{number:x}", path=PATH, reason=WRONG)
    refused.report()
    assert len(told) == MAX_ADDRESSES + 1
    assert told[-1] == RefusedSignIn(OTHERS, PATH, WRONG, 2 * MAX_ADDRESSES)
    assert sum(each.attempts for each in told) == 3 * MAX_ADDRESSES
