"""Whom guesses of a password lock out, from where, and for how long."""

from contextlib import contextmanager
from datetime import timedelta

import pytest

from services.application.access.sign_in import SignIns
from services.application.access.sign_in_networks import (
    FAILURES_BEFORE_LOCK,
    FAILURES_BEFORE_LOCK_EVERYWHERE,
    KNOWN_FOR,
    LONGEST_LOCK,
)
from services.application.access.users import reset_password
from tests.integration.admin.visitors import OTHER_PASSWORD, PASSWORD, Visitor, entries
from tradewind.errors import InvalidValue, Unauthenticated


def test_guessing_locks_a_network_for_a_while_and_longer_each_time(parts, sign_ins, clock, operator):
    for _ in range(FAILURES_BEFORE_LOCK):
        with pytest.raises(Unauthenticated):
            sign_ins.sign_in(operator.login, "a guess of mine")
    with pytest.raises(Unauthenticated):
        sign_ins.sign_in(operator.login, PASSWORD)  # right, but locked
    clock.ahead += timedelta(seconds=31)
    with pytest.raises(Unauthenticated):
        sign_ins.sign_in(operator.login, "a guess of mine")
    clock.ahead += timedelta(seconds=31)
    with pytest.raises(Unauthenticated):
        sign_ins.sign_in(operator.login, PASSWORD)
    clock.ahead += timedelta(seconds=31)
    assert sign_ins.sign_in(operator.login, PASSWORD)
    assert [action for action, _, _ in entries(parts, operator.tenant, "user.")] == [
        "user.signed_in",
        "user.locked",
        "user.locked",
    ]


def test_days_of_guessing_neither_fail_nor_end_the_locks(parts, sign_ins, clock, operator):
    user_id = parts.store.registry.find_user(operator.login).id
    with parts.store.unit_of_work(operator.tenant.id) as uow:
        for _ in range(100):
            uow.users.note_failure(user_id)
        uow.commit()
    with pytest.raises(Unauthenticated):
        sign_ins.sign_in(operator.login, "a guess of mine")
    clock.ahead += LONGEST_LOCK - timedelta(seconds=30)
    with pytest.raises(Unauthenticated):
        sign_ins.sign_in(operator.login, PASSWORD)


def test_a_guess_sent_before_the_lock_is_of_no_use_after_it(parts, clock, operator):
    registry = parts.store.registry
    opened = 0

    @contextmanager
    def locked_by_others_meanwhile(tenant_id, actor):
        nonlocal opened
        opened += 1
        if opened == 2:  # the first has found the account open
            with parts.store.unit_of_work(tenant_id) as uow:
                uow.users.lock(registry.find_user(operator.login).id, clock.now() + LONGEST_LOCK)
                uow.commit()
        with parts.store.unit_of_work(tenant_id, actor) as uow:
            yield uow

    with pytest.raises(Unauthenticated):
        SignIns(registry.find_user, registry.find_session, locked_by_others_meanwhile, clock, parts.passwords).sign_in(
            operator.login, PASSWORD
        )


def guess(sign_ins, person, network, times=1):
    for _ in range(times):
        with pytest.raises(Unauthenticated):
            sign_ins.sign_in(person.login, "a guess of mine", network=network)


def test_failed_guesses_lock_a_login_only_on_the_network_of_the_guesser(sign_ins, operator):
    guess(sign_ins, operator, "192.0.2.0/24", FAILURES_BEFORE_LOCK + 1)
    with pytest.raises(Unauthenticated):
        sign_ins.sign_in(operator.login, PASSWORD, network="192.0.2.0/24")
    assert sign_ins.sign_in(operator.login, PASSWORD, network="198.51.100.0/24")
    with pytest.raises(Unauthenticated):  # which does not admit the attacker's network
        sign_ins.sign_in(operator.login, PASSWORD, network="192.0.2.0/24")


def test_guessing_from_many_networks_is_bounded_and_leaves_the_persons_own_open(sign_ins, clock, operator):
    sign_ins.sign_in(operator.login, PASSWORD, network="198.51.100.0/24")
    for number in range(FAILURES_BEFORE_LOCK_EVERYWHERE):
        guess(sign_ins, operator, f"10.0.{number}.0/24")
    with pytest.raises(Unauthenticated):
        sign_ins.sign_in(operator.login, PASSWORD, network="203.0.113.0/24")  # right, but from where nobody was
    assert sign_ins.sign_in(operator.login, PASSWORD, network="198.51.100.0/24")
    assert sign_ins.sign_in(operator.login, PASSWORD, network="203.0.113.0/24"), "which begins the count anew"
    clock.ahead = KNOWN_FOR
    guess(sign_ins, operator, "10.0.0.0/24")
    for number in range(FAILURES_BEFORE_LOCK_EVERYWHERE - 1):
        guess(sign_ins, operator, f"10.0.{number}.0/24")
    clock.ahead += timedelta(seconds=20)
    with pytest.raises(Unauthenticated):
        sign_ins.sign_in(operator.login, PASSWORD, network="198.51.100.0/24")  # not seen for too long


def test_networks_without_recent_sign_ins_are_forgotten(parts, sign_ins, clock, operator):
    for number in range(3):
        guess(sign_ins, operator, f"10.0.{number}.0/24")
    sign_ins.sign_in(operator.login, PASSWORD, network="198.51.100.0/24")
    clock.ahead = KNOWN_FOR + timedelta(hours=1)
    sign_ins.sign_in(operator.login, PASSWORD, network="203.0.113.0/24")
    with parts.store.unit_of_work(operator.tenant.id) as uow:
        kept = uow.connection.exec_driver_sql("SELECT network FROM sign_in_networks").scalars().all()
    assert kept == ["203.0.113.0/24"]


def test_another_first_password_opens_a_locked_network(parts, sign_ins, operator):
    guess(sign_ins, operator, "192.0.2.0/24", FAILURES_BEFORE_LOCK)
    user_id = parts.store.registry.find_user(operator.login).id
    with parts.store.unit_of_work(operator.tenant.id) as uow:
        password = reset_password(user_id, passwords=parts.passwords, uow=uow)
    assert sign_ins.sign_in(operator.login, password, network="192.0.2.0/24")


def test_failed_guesses_from_other_networks_do_not_block_a_password_change(sign_ins, operator):
    secret = sign_ins.sign_in(operator.login, PASSWORD, network="198.51.100.0/24")
    for number in range(FAILURES_BEFORE_LOCK_EVERYWHERE):
        guess(sign_ins, operator, f"10.0.{number}.0/24")
    sign_ins.change_password(sign_ins.find_visitor(secret), secret, old=PASSWORD, new=OTHER_PASSWORD)


def test_the_page_counts_failures_by_the_network_of_who_asks(api, operator):
    with Visitor(base_url=api, headers={"X-Forwarded-For": "192.0.2.7"}) as stranger:
        for _ in range(FAILURES_BEFORE_LOCK):
            assert stranger.sign_in(operator, "a guess of mine").status_code == 401
    with Visitor(base_url=api, headers={"X-Forwarded-For": "192.0.2.8"}) as neighbour:
        assert neighbour.sign_in(operator).status_code == 401
    with Visitor(base_url=api, headers={"X-Forwarded-For": "198.51.100.9"}) as visitor:
        assert visitor.sign_in(operator).status_code == 303


def test_guessing_the_old_password_of_an_open_session_locks_too(sign_ins, operator):
    secret = sign_ins.sign_in(operator.login, PASSWORD)
    for _ in range(FAILURES_BEFORE_LOCK):
        with pytest.raises(InvalidValue, match="is not your password"):
            sign_ins.change_password(sign_ins.find_visitor(secret), secret, old="a guess of mine", new=OTHER_PASSWORD)
    with pytest.raises(InvalidValue, match="is not checked for a while"):
        sign_ins.change_password(sign_ins.find_visitor(secret), secret, old=PASSWORD, new=OTHER_PASSWORD)
