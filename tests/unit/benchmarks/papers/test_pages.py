"""Claims about pages, judged over pages that are made up."""

import pytest

from benchmarks.papers.catalogue import Claim
from benchmarks.papers.trials.measured_pages import FORMS, GROUNDS, NUMBERS
from benchmarks.papers.trials.page_trials import DrawnPage
from benchmarks.transport.proxy import PageProtocol


def judged(name, figure, of_page, values=None):
    """``of_page`` : the figure by CUBIC and by FLD_TCP, by protocol and number of the page."""
    rows = {}
    for network, protocol in GROUNDS:
        for number in NUMBERS:
            cubic, fld = of_page(protocol, number)
            row = {f"cubic_{figure}": cubic, f"cubic_{figure}_each": [cubic] * 2, f"fld_tcp_{figure}_each": [fld] * 2}
            rows[DrawnPage(network, protocol, number)] = row
    claim = Claim(id="x-1", paper="004", place="p", kind="result", statement="", values=values or {})
    return list(FORMS[name].judge(claim, {}, rows))


@pytest.mark.parametrize(
    ("less_each_s", "shown", "agrees"),
    [
        ((0.1, 0.2, 0.1, 0.3, 0.2, 0.1), True, True),
        ((0.1, -0.2, 0.1, -0.3, 0.2, -0.1), False, False),
        ((-0.1, -0.2, -0.1, -0.3, -0.2, -0.1), True, False),
    ],
)
def test_a_difference_whose_interval_reaches_over_0_is_neither_a_gain_nor_none(less_each_s, shown, agrees):
    found = judged("004-fig9-10", "connection_s", lambda _, number: (1.0, 1.0 - less_each_s[number - 1]))
    assert len(found) == len(GROUNDS)
    assert {(each.is_shown, each.agrees, each.fails) for each in found} == {(shown, agrees, shown and not agrees)}
    assert all("; 6 pages)" in each.what for each in found)


def test_connections_at_once_are_counted_where_there_may_be_several():
    at_once = {PageProtocol.PLAIN: 1.9, PageProtocol.HTTP_2: 1.0}
    found = judged(
        "004-fig8",
        "concurrency",
        lambda protocol, _: (at_once.get(protocol, 3.0), at_once.get(protocol, 3.0)),
        {"most_pages_below": 2},
    )
    assert (found[0].agrees, "(median 2.45)" in found[0].what) == (False, True)
