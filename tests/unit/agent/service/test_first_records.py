"""The first records of a CSV in pieces, whatever its fields hold and wherever it is torn."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from tradewind_agent.service.warehouse import FirstRecords

FIELDS = st.text(st.sampled_from('a",\n\r; '), max_size=6)
TABLES = st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=8)


@given(TABLES, st.integers(1, 9), st.integers(1, 7))
def test_so_many_records_are_stored_entire(table, wanted, size):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(table)
    whole = text.getvalue().encode()
    first = FirstRecords(wanted)
    kept = b"".join(first.cut_piece(whole[at : at + size]) for at in range(0, len(whole), size))
    expected = io.StringIO()
    csv.writer(expected, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(table[:wanted])
    assert kept == expected.getvalue().encode()
    assert first.records == min(wanted, len(table))
    assert first.more == (len(table) > wanted)
