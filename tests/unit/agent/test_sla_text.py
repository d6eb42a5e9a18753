import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.errors import InvalidValue
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind_agent.sla_text import format_sla, parse_sla


@pytest.mark.parametrize(
    ("text", "kind", "target", "fraction"),
    [
        ("max_throughput", SlaKind.MAX_THROUGHPUT, None, None),
        ("min-energy", SlaKind.MIN_ENERGY, None, None),
        ("throughput_at_least=500Mbps", SlaKind.THROUGHPUT_AT_LEAST, 5e8, None),
        ("throughput_at_least = 90%", SlaKind.THROUGHPUT_AT_LEAST, None, 0.9),
        ("deadline=2h", SlaKind.DEADLINE, 7200, None),
        ("energy_at_most=4kJ", SlaKind.ENERGY_AT_MOST, 4000, None),
        ("power_at_most=800mW", SlaKind.POWER_AT_MOST, 0.8, None),
    ],
)
def test_slas_are_read_with_the_units_of_their_kind(text, kind, target, fraction):
    sla = parse_sla(text)
    assert sla.kind is kind
    assert sla.target == (None if target is None else pytest.approx(target))
    assert sla.fraction == fraction


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("fastest", "unknown kind 'fastest'; one of max_throughput"),
        ("deadline", "needs a value, such as deadline=2h"),
        ("deadline=", "needs a value"),
        ("deadline=2kJ", "deadline cannot be '2kJ'; write it like deadline=2h"),
        ("deadline=0s", "deadline=0s: the target must be above 0"),
        (
            "power_at_most=0W",
            "power_at_most=0W: the target must be above 0 and finite, got 0.0; such as power_at_most=15W",
        ),
        ("500Mbps", "energy_at_most, .* did you mean throughput_at_least=500Mbps\\?"),
        ("deadline=7200", "deadline cannot be '7200'; write it like deadline=2h"),
        ("throughput_at_least=500", "cannot be '500'; write it like throughput_at_least=500Mbps or"),
        ("throughput_at_least=0.9", "or throughput_at_least=90%"),
        ("energy_at_most=4", "cannot be '4'; write it like energy_at_most=4kJ"),
        ("power_at_most=12", "cannot be '12'; write it like power_at_most=15W"),
        ("max_throughput=5", "takes no value"),
        ("throughput_at_least=120%", "not within"),
        ("energy_at_most=90%", "cannot be '90%'"),
        ("throughput_at_least=nan", "cannot be 'nan'"),
        ("", "unknown kind"),
    ],
)
def test_invalid_sla_is_refused_with_an_example(text, reason):
    with pytest.raises(InvalidValue, match=reason):
        parse_sla(text)


def test_an_unknown_confidence_is_refused():
    with pytest.raises(InvalidValue, match="confidence"):
        parse_sla("max_throughput", confidence=1.0)


TARGETS = st.floats(1e-3, 1e15)


@given(
    st.one_of(
        st.sampled_from([SlaKind.MAX_THROUGHPUT, SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY]).map(
            lambda kind: Sla(kind=kind)
        ),
        st.builds(
            Sla,
            kind=st.sampled_from(
                [SlaKind.THROUGHPUT_AT_LEAST, SlaKind.DEADLINE, SlaKind.ENERGY_AT_MOST, SlaKind.POWER_AT_MOST]
            ),
            target=TARGETS,
        ),
        st.integers(1, 100).map(lambda percent: Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=percent / 100)),
    )
)
def test_formatted_sla_is_parsed_back(sla):
    assert parse_sla(format_sla(sla), energy_basis=sla.energy_basis) == sla


def test_basis_that_is_not_given_is_the_services_to_choose():
    assert parse_sla("min_energy").has_default_basis
    assert not parse_sla("min_energy", energy_basis=EnergyBasis.TOTAL).has_default_basis
