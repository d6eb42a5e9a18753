"""Answers name the energy basis that counts: the requested one, or that of the endpoints' power policies."""

from dataclasses import replace

import pytest

from services.application.recommend.snapshot import Snapshot
from tests.unit.application.recommend.models import LINK, leaf_model, snapshot
from tests.unit.application.recommend.requests import answer, enquiry
from tradewind.path import Path
from tradewind.recommendation import AnswerSource
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.sla.power_policy import PowerPolicy
from tradewind.transfer import LinkKey

ON, BATTERY = PowerPolicy.ALWAYS_ON, PowerPolicy.BATTERY
DYNAMIC, TOTAL = EnergyBasis.DYNAMIC, EnergyBasis.TOTAL


def powered(policies: dict[str, PowerPolicy], *, knows_power: bool = True, key: LinkKey = LINK) -> Snapshot:
    learned = snapshot(leaf_model(300, 100_000, powered=knows_power), key=key)
    return replace(learned, index=replace(learned.index, power_policies=policies))


def ask(kind: SlaKind, learned: Snapshot, *, named: EnergyBasis | None = None, **changes):
    sla = Sla(kind=kind, energy_basis=named or TOTAL, has_default_basis=named is None)
    return answer(replace(enquiry(), sla=sla, **changes), learned).recommendation


@pytest.mark.parametrize("kind", [SlaKind.MIN_ENERGY, SlaKind.MAX_THROUGHPUT])
@pytest.mark.parametrize(("policies", "basis"), [
    ({}, TOTAL),
    ({"origin": ON}, DYNAMIC),
    ({"origin": ON, "laptop": BATTERY}, TOTAL),
    ({"elsewhere": ON}, TOTAL),
])  # fmt: skip
def test_policies_of_both_ends_decide_the_basis(kind, policies, basis):
    made = ask(kind, powered(policies))
    assert made.source is AnswerSource.RELEASE
    assert made.sla.sla.energy_basis is basis
    assert not made.sla.sla.has_default_basis


def test_predicted_energy_is_on_the_basis_that_the_answer_names():
    dynamic, total = (ask(SlaKind.MAX_THROUGHPUT, powered({"origin": each})) for each in (ON, BATTERY))
    assert dynamic.predicted.energy_j is not None
    assert total.predicted.energy_j is not None
    assert dynamic.predicted.energy_j.mean < total.predicted.energy_j.mean


def test_named_basis_withstands_the_policy():
    assert ask(SlaKind.MIN_ENERGY, powered({"origin": ON}), named=TOTAL).sla.sla.energy_basis is TOTAL


def test_total_counts_where_the_logs_do_not_know_dynamic_energy():
    made = ask(SlaKind.MAX_THROUGHPUT, powered({"origin": ON}, knows_power=False))
    assert made.sla.sla.energy_basis is TOTAL


@pytest.mark.parametrize("has_neighbour", [True, False])
def test_unknown_paths_follow_the_policy_too(has_neighbour):
    key = LinkKey("far", "away", None, "tradewind" if has_neighbour else "other")
    made = ask(SlaKind.MIN_ENERGY, powered({"origin": ON}, key=key), path=Path(bandwidth_bps=9e7, rtt_s=0.05))
    assert made.source is (AnswerSource.NEIGHBOUR if has_neighbour else AnswerSource.HEURISTIC)
    assert made.sla.sla.energy_basis is DYNAMIC


def test_alias_of_an_endpoint_has_its_policy():
    learned = powered({"origin": ON})
    learned = replace(learned, index=replace(learned.index, aliases={"origin.example.org": "origin"}))
    made = ask(SlaKind.MIN_ENERGY, learned, link=LINK._replace(source="origin.example.org"))
    assert made.sla.sla.energy_basis is DYNAMIC
